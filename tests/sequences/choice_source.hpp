// SPDX-License-Identifier: Apache-2.0
// sequences/choice_source.hpp - the source of a sequence's choices: a seed, or the bytes of a
// fuzzer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>

namespace weir::sequences {

// Each sequence has its own object. Equal seeds or bytes give equal choices on every machine.
class choice_source {
 public:
  explicit choice_source(std::uint64_t seed) noexcept : state_{seed} {
    state_ = next();
  }  // gives neighbouring seeds unrelated choices
  explicit choice_source(std::span<const std::uint8_t> bytes) noexcept
      : bytes_{bytes}, from_bytes_{true} {}

  // Returns a number from 0 to n - 1; n is at most 65536. After the last byte it returns 0.
  [[nodiscard]] unsigned below(unsigned n) noexcept {
    if (n < 2) return 0;
    if (!from_bytes_) return static_cast<unsigned>(next() % n);
    const unsigned low = byte();
    return (n <= 256 ? low : low << 8 | byte()) % n;
  }

  [[nodiscard]] bool one_in(unsigned n) noexcept { return below(n) == n - 1; }

  template <class T>
  [[nodiscard]] T one_of(std::initializer_list<T> values) noexcept {
    return values.begin()[below(static_cast<unsigned>(values.size()))];
  }

  // Returns true if there are choices left. A seed never ends.
  [[nodiscard]] bool has_more() const noexcept { return !from_bytes_ || position_ < bytes_.size(); }

 private:
  // splitmix64.
  std::uint64_t next() noexcept {
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
    z = (z ^ z >> 27) * 0x94D049BB133111EB;
    return z ^ z >> 31;
  }
  unsigned byte() noexcept { return position_ < bytes_.size() ? bytes_[position_++] : 0; }

  std::uint64_t state_ = 0;
  std::span<const std::uint8_t> bytes_;
  std::size_t position_ = 0;
  bool from_bytes_ = false;
};

}  // namespace weir::sequences
