// SPDX-License-Identifier: Apache-2.0
// kernel/image/image_form.cpp - telling forms of modules apart by their first bytes.
#include <elf.h>

#include <string_view>

#include "embedded/kernel/image/image_check.hpp"

namespace weir::embedded::kernel {

namespace {

// Reads on only while all bytes so far are the same: then what it reads is there.
bool begins_with(const char* bytes, std::string_view wanted) noexcept {
  for (const char each : wanted) {
    if (*bytes++ != each) return false;
  }
  return true;
}

// Behind white space and comments, as far as they are closed.
const char* skip_comments(const char* text) noexcept {
  for (;;) {
    if (*text == ' ' || *text == '\t' || *text == '\n' || *text == '\r') {
      ++text;
    } else if (begins_with(text, "//")) {
      while (*text != '\0' && *text != '\n') ++text;
    } else if (begins_with(text, "/*")) {
      text += 2;
      while (*text != '\0' && !begins_with(text, "*/")) ++text;
      if (*text != '\0') text += 2;
    } else {
      return text;
    }
  }
}

}  // namespace

image_form form_of(const void* image) noexcept {
  const auto* const bytes = static_cast<const char*>(image);
  if (begins_with(bytes, {ELFMAG, SELFMAG})) return image_form::elf;
  // The container itself, and what nvcc puts around it.
  if (begins_with(bytes, "\x50\xed\x55\xba") || begins_with(bytes, "\xb1\x43\x62\x46"))
    return image_form::fat_binary;
  return begins_with(skip_comments(bytes), ".version") ? image_form::ptx : image_form::junk;
}

}  // namespace weir::embedded::kernel
