// weir/core/call_site.hpp - the place in the caller's source that an error names.
#pragma once

namespace weir {

// A line of the caller's source. Every call that can fail takes one as its last argument, by
// default the line of the call itself; it costs two registers. Code that wraps weir passes its own
// caller's on:
//
//   void flush(weir::stream_ref s, weir::call_site at = weir::call_site::current()) { s.sync(at); }
//
// It stands in for std::source_location, which clang has only from version 15, so that libraries
// and programs of either compiler link with each other.
class call_site {
 public:
  constexpr call_site() noexcept = default;

  // The line that this is written in, or, as a default argument, the line of the call.
  [[nodiscard]] static constexpr call_site current(const char* file = __builtin_FILE(),
                                                   unsigned line = __builtin_LINE()) noexcept {
    return call_site{file, line};
  }

  [[nodiscard]] constexpr const char* file_name() const noexcept { return file_; }
  [[nodiscard]] constexpr unsigned line() const noexcept { return line_; }

 private:
  constexpr call_site(const char* file, unsigned line) noexcept : file_{file}, line_{line} {}

  const char* file_ = "";
  unsigned line_ = 0;
};

static_assert(sizeof(call_site) <= 2 * sizeof(void*), "passed in two registers");

}  // namespace weir
