// SPDX-License-Identifier: Apache-2.0
// compile/host/device_headers.hpp - the text of the headers that kernels for the host's processor
// are compiled with. They are part of the library, so that it needs no files of its own at run
// time.
#pragma once

#include <span>
#include <string_view>

namespace weir::compile {

struct device_header {
  std::string_view name;  // as an #include has it
  std::string_view text;
};

// Made by the build from src/compile/device and the module ABI.
[[nodiscard]] std::span<const device_header> device_headers() noexcept;

// Changes with any of them.
[[nodiscard]] unsigned long long device_headers_hash() noexcept;

// Changes with src/compile, which rewrites kernels: what an older one made is not to be found in a
// cache.
[[nodiscard]] std::string_view translator_version() noexcept;

}  // namespace weir::compile
