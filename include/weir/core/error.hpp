// weir/core/error.hpp - what weir throws, and where failures go that cannot be thrown.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/core/errc.hpp>
#include <weir/detail/export.hpp>

#include <exception>
#include <span>
#include <string>
#include <system_error>

namespace weir {

// The driver's results, and weir's own, as a category. Names are the driver's
// ("CUDA_ERROR_INVALID_VALUE: invalid argument"); a code newer than weir keeps its number.
// out_of_memory, invalid_value, not_supported, timeout and not_permitted compare equal to the
// std::errc of that meaning.
[[nodiscard]] WEIR_EXPORT const std::error_category& driver_category() noexcept;

[[nodiscard]] inline std::error_code make_error_code(errc code) noexcept {
  return std::error_code{static_cast<int>(code), driver_category()};
}

namespace detail {
struct error_details;
}

// A call that failed. Copies share what they hold and never throw. Thread safety: as any object;
// copies are apart.
class WEIR_EXPORT error : public std::system_error {
 public:
  // For weir and for code that extends it. `call` is a literal, or lives as long as the program.
  error(errc code, const char* call, std::string object, std::string hint, call_site at);
  error(const error& other) noexcept;
  error& operator=(const error& other) noexcept;
  ~error() override;

  // std::system_error's code(), as weir's enumeration: `catch (const weir::error& e) { if
  // (e.result() == errc::closed)
  // ...`
  [[nodiscard]] errc result() const noexcept { return static_cast<errc>(code().value()); }

  // The driver call that failed, or the operation that weir refused: "cuStreamQuery".
  [[nodiscard]] const char* call() const noexcept;
  // What it was called on, as text: "stream 0x55d0c8 (device 0)". Empty if nothing.
  [[nodiscard]] const std::string& object() const noexcept;
  // What to do about it. Empty if there is nothing to say.
  [[nodiscard]] const std::string& hint() const noexcept;
  // The line of the program that called weir.
  [[nodiscard]] call_site where() const noexcept;

  // What failed afterwards, while this one was being cleaned up, in order. Attaching changes this
  // object alone: earlier copies of it, and what() and attached() taken before, are not part of it.
  [[nodiscard]] std::span<const error> attached() const noexcept;
  void attach(const error& later);

  // All of it in one line: call, code, object, place, advice, and how many are attached.
  [[nodiscard]] const char* what() const noexcept override;

 private:
  detail::error_details* details_;
};

// Gets what failed where nothing can be thrown: in destructors, and exceptions of host functions
// that no sync() collected. Mostly a weir::error; rethrow it to see. May be called from any thread,
// several at once, and also while statics are destroyed. It must not throw and not call weir.
using unhandled_error_handler = void (*)(std::exception_ptr failure) noexcept;

// Replaces the hook and gives the one before. Null restores weir's own, which writes one line to
// standard error. A driver that is shutting down is no failure and reaches no hook. Thread safety:
// from any thread.
WEIR_EXPORT unhandled_error_handler
set_unhandled_error_handler(unhandled_error_handler handler) noexcept;

}  // namespace weir

template <>
struct std::is_error_code_enum<weir::errc> : std::true_type {};
