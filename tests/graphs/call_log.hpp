// SPDX-License-Identifier: Apache-2.0
// graphs/call_log.hpp - a log of a sequence's calls, readable in a signal handler.
#pragma once

#include <unistd.h>
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace weir::graphs {

// A single thread writes. Entries that do not fit are dropped.
class call_log {
 public:
  // Also prints each complete line, prefixed with `name` if that is not empty.
  void print_as(std::string name) { name_ = std::move(name); }
  void clear() noexcept { end_ = last_ = 0; }

  // Logs a call before it is made, so that a call that never returns is the last entry.
  void begin(std::string_view what) {
    last_ = end_;
    append(what);
  }
  void append(std::string_view what) {
    const std::size_t at = end_;
    if (what.empty() || what.size() > text_.size() - at) return;
    std::memcpy(text_.data() + at, what.data(), what.size());
    end_.store(at + what.size(), std::memory_order_release);
  }
  void finish(std::string_view answer) {
    append(answer);
    append("\n");
    if (!name_.empty())
      std::printf("%s%.*s", name_.c_str(), static_cast<int>(end_.load() - last_),
                  text_.data() + last_);
  }
  void line(std::string_view all) {
    begin(all);
    finish({});
  }

  // Truncates the log to an earlier end().
  [[nodiscard]] std::size_t end() const noexcept { return end_; }
  void forget_from(std::size_t end) noexcept { end_ = end; }

  [[nodiscard]] std::string text() const { return {text_.data(), end_.load()}; }
  void write_to(int file) const noexcept {
    for (std::size_t done = 0, all = end_; done < all;) {
      const ::ssize_t n = ::write(file, text_.data() + done, all - done);
      if (n <= 0) return;
      done += static_cast<std::size_t>(n);
    }
  }

 private:
  std::vector<char> text_ = std::vector<char>(std::size_t{1} << 20);
  std::atomic<std::size_t> end_{0};
  std::size_t last_ = 0;  // the start of the last line
  std::string name_;
};

}  // namespace weir::graphs
