// SPDX-License-Identifier: Apache-2.0
// compile/host/device_headers.cpp - their hash, by FNV-1a.
#include "compile/host/device_headers.hpp"

namespace weir::compile {

unsigned long long device_headers_hash() noexcept {
  static const unsigned long long hash = [] {
    unsigned long long h = 14695981039346656037ull;
    const auto add = [&h](std::string_view text) {
      for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 1099511628211ull;
    };
    for (const device_header& header : device_headers()) add(header.name), add(header.text);
    return h;
  }();
  return hash;
}

}  // namespace weir::compile
