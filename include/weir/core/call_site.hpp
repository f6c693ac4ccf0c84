// SPDX-License-Identifier: Apache-2.0
// weir/core/call_site.hpp - the place in the caller's source that an error names.
#pragma once

#if __cplusplus < 202002L
#error weir needs C++20: compile with -std=c++20 or later
#endif

namespace weir {

/// A line of the caller's source. Nearly every function of weir that can fail takes a call_site as
/// its last parameter, so that its error names the line. The default argument is the line of the
/// call itself, and costs two registers. Code that wraps weir passes on the call site of its
/// caller:
///
///   void flush(weir::stream_ref s, weir::call_site at = weir::call_site::current()) {
///     s.sync(at);
///   }
///
/// weir does not use std::source_location, because clang has it only from version 15. The type
/// would then differ between compilers, and a library and a program of different compilers could
/// not be linked.
class call_site {
 public:
  constexpr call_site() noexcept = default;

  /// Returns the line of this expression or, in a default argument, the line of the call.
  [[nodiscard]] static constexpr call_site current(const char* file = __builtin_FILE(),
                                                   unsigned line = __builtin_LINE()) noexcept {
    return call_site{file, line};
  }

  /// Returns the file name; empty if unknown.
  [[nodiscard]] constexpr const char* file_name() const noexcept { return file_; }
  /// Returns the line number; 0 if unknown.
  [[nodiscard]] constexpr unsigned line() const noexcept { return line_; }

 private:
  constexpr call_site(const char* file, unsigned line) noexcept : file_{file}, line_{line} {}

  const char* file_ = "";
  unsigned line_ = 0;
};

static_assert(sizeof(call_site) <= 2 * sizeof(void*), "passed in two registers");

}  // namespace weir
