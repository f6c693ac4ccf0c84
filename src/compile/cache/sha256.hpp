// SPDX-License-Identifier: Apache-2.0
// compile/cache/sha256.hpp - a name for any content, which no other content has: SHA-256, as FIPS
// 180-4 says it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace weir::compile {

// Of all that update() was given, in order.
//
// Why this one: what the cache finds under a name is run, so names must not meet even where
// somebody tries; it is a standard with known answers to test against; and it is small enough to be
// written here, where a library would have to be on every machine that runs the program.
class sha256 {
 public:
  void update(std::string_view bytes) noexcept;
  // 64 hexadecimal digits. Nothing may follow.
  [[nodiscard]] std::string finish();

 private:
  void take_block(const unsigned char* block) noexcept;

  static constexpr std::size_t block_bytes = 64;
  static const std::array<std::uint32_t, 8> first_state;

  std::array<std::uint32_t, 8> state_ = first_state;
  std::array<unsigned char, block_bytes> partial_{};
  std::uint64_t bytes_ = 0;
};

}  // namespace weir::compile
