// SPDX-License-Identifier: Apache-2.0
// sequences/transcript.cpp - the calls of a sequence and their results, one line each.
#include "sequences/transcript.hpp"

#include "driver/results.hpp"

namespace weir::sequences {

std::string short_name(abi::CUresult result) {
  std::string_view name = detail::result_text_of(result).name;
  for (const std::string_view prefix : {"CUDA_ERROR_", "CUDA_"}) {
    if (name.starts_with(prefix)) return std::string{name.substr(prefix.size())};
  }
  return fmt::format("{}", static_cast<unsigned>(result));
}

std::uint64_t hash_of(std::span<const std::uint8_t> bytes) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const std::uint8_t byte : bytes) hash = (hash ^ byte) * 0x100000001b3;
  return hash;
}

std::uint64_t hash_of(std::string_view text) noexcept {
  return hash_of(std::span{reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
}

}  // namespace weir::sequences
