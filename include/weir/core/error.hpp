// SPDX-License-Identifier: Apache-2.0
// weir/core/error.hpp - the exception that weir throws, and the handler for errors that cannot be
// thrown.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/core/errc.hpp>
#include <weir/detail/export.hpp>

#include <exception>
#include <span>
#include <string>
#include <system_error>

namespace weir {

/// Returns the error category of errc. Messages contain the driver's names
/// ("CUDA_ERROR_INVALID_VALUE: invalid argument"); the message of an unknown code contains the
/// number. `out_of_memory`, `invalid_value`, `not_supported`, `timeout` and `not_permitted` compare
/// equal to the corresponding std::errc.
[[nodiscard]] WEIR_EXPORT const std::error_category& driver_category() noexcept;

/// Returns a std::error_code of driver_category().
[[nodiscard]] inline std::error_code make_error_code(errc code) noexcept {
  return std::error_code{static_cast<int>(code), driver_category()};
}

namespace detail {
struct error_details;
}

/// The exception that weir throws when a call fails. Copies share their contents and never throw.
///
/// Thread safety: an object needs external synchronisation; copies are independent.
class WEIR_EXPORT error : public std::system_error {
 public:
  /// Creates an error. Called by weir and by code that extends weir. `call` must stay valid as long
  /// as the program runs, as a string literal does.
  error(errc code, const char* call, std::string object, std::string hint, call_site at);
  error(const error& other) noexcept;
  error& operator=(const error& other) noexcept;
  ~error() override;

  /// Returns code() as weir's enumeration: `catch (const weir::error& e) { if (e.result() ==
  /// errc::closed) ...`
  [[nodiscard]] errc result() const noexcept { return static_cast<errc>(code().value()); }

  /// Returns the driver call that failed, or the operation that weir rejected: "cuStreamQuery".
  [[nodiscard]] const char* call() const noexcept;
  /// Returns the object of the call as text: "stream 0x55d0c8 (device 0)". May be empty.
  [[nodiscard]] const std::string& object() const noexcept;
  /// Returns advice on how to fix the error. May be empty.
  [[nodiscard]] const std::string& hint() const noexcept;
  /// Returns the line of the program that called weir.
  [[nodiscard]] call_site where() const noexcept;

  /// Returns the errors that followed while this one was being handled, in order.
  [[nodiscard]] std::span<const error> attached() const noexcept;
  /// Adds a later error. Changes this object only: earlier copies, and earlier results of what()
  /// and attached(), stay as they were.
  void attach(const error& later);

  /// Returns everything in one line: call, code, object, place, advice, and the texts of the
  /// attached errors.
  [[nodiscard]] const char* what() const noexcept override;

 private:
  detail::error_details* details_;
};

/// A function that receives errors that cannot be thrown: failures in destructors, and exceptions
/// of host functions that no sync() has thrown. `failure` is usually a weir::error; rethrow it to
/// inspect it. It may be called from any thread, concurrently, and while statics are destroyed. It
/// must not throw and must not call weir.
using unhandled_error_handler = void (*)(std::exception_ptr failure) noexcept;

/// Replaces the handler and returns the previous one. Null restores the default handler, which
/// writes one line to standard error. Failures caused by a driver that is shutting down are not
/// reported.
///
/// Thread safety: may be called from any thread.
WEIR_EXPORT unhandled_error_handler
set_unhandled_error_handler(unhandled_error_handler handler) noexcept;

}  // namespace weir

template <>
struct std::is_error_code_enum<weir::errc> : std::true_type {};
