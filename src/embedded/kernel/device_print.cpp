// SPDX-License-Identifier: Apache-2.0
// kernel/device_print.cpp - formatting on the kernel's account, writing on the driver's.
#include "embedded/kernel/device_print.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "embedded/kernel/blocks/block_runner.hpp"

namespace weir::embedded::kernel {

int arguments_named_by(const char* format) noexcept {
  int count = 0;
  for (const char* at = std::strchr(format, '%'); at != nullptr; at = std::strchr(at, '%')) {
    if (at[1] == '%') {
      at += 2;
      continue;
    }
    const std::size_t form = std::strspn(at + 1, "-+ #0123456789.*hlLqjzt");
    for (std::size_t i = 1; i <= form; ++i) count += at[i] == '*' ? 1 : 0;
    if (at[1 + form] == '\0') break;
    ++count;
    at += form + 2;
  }
  return count;
}

namespace {

char* room_for(std::size_t bytes) noexcept {
  const block_runner::own_work ours;
  return static_cast<char*>(std::malloc(bytes));
}

}  // namespace

// What the format points to is the kernel's affair: a fault there is one of the kernel, and leaves
// no lock behind.
int print_from_device(const char* format, std::va_list arguments) {
  if (format == nullptr) return -1;
  claim_stack();
  std::array<char, 512> text;
  std::va_list again;
  va_copy(again, arguments);
  const int length = std::vsnprintf(text.data(), text.size(), format, arguments);
  int answer = length < 0 ? -2 : arguments_named_by(format);
  if (length >= 0 && static_cast<std::size_t>(length) < text.size()) {
    const block_runner::own_work ours;
    std::fwrite(text.data(), 1, static_cast<std::size_t>(length), stdout);
  } else if (length >= 0) {
    const auto bytes = static_cast<std::size_t>(length);
    if (char* const longer = room_for(bytes + 1)) {
      std::vsnprintf(longer, bytes + 1, format, again);
      const block_runner::own_work ours;
      std::fwrite(longer, 1, bytes, stdout);
      std::free(longer);
    } else {
      answer = -2;
    }
  }
  va_end(again);
  return answer;
}

}  // namespace weir::embedded::kernel
