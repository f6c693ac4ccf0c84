// SPDX-License-Identifier: Apache-2.0
// compile/cache/sha256.cpp - SHA-256, as FIPS 180-4 says it.
#include "compile/cache/sha256.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace weir::compile {
namespace {

constexpr std::size_t rounds = 64;

// The standard's constants are digits of roots of the first primes, and are computed here from what
// they are.
__extension__ using wide = unsigned __int128;

constexpr std::array<unsigned, rounds> first_primes() {
  std::array<unsigned, rounds> primes{};
  std::size_t count = 0;
  for (unsigned n = 2; count < rounds; ++n) {
    bool is_prime = true;
    for (std::size_t i = 0; i < count && primes[i] * primes[i] <= n; ++i)
      is_prime &= n % primes[i] != 0;
    if (is_prime) primes[count++] = n;
  }
  return primes;
}

// The first 32 binary digits behind the point of the root of that degree.
constexpr std::uint32_t digits_of_root(unsigned of, unsigned degree) {
  const wide scaled = static_cast<wide>(of) << (32 * degree);
  wide low = 0;
  wide high = wide{1} << 40;  // the root of the largest prime is below 2^8
  while (high - low > 1) {
    const wide middle = (low + high) / 2;
    wide power = 1;
    for (unsigned i = 0; i < degree; ++i) power *= middle;
    (power <= scaled ? low : high) = middle;
  }
  return static_cast<std::uint32_t>(low);
}

template <std::size_t Count>
constexpr std::array<std::uint32_t, Count> digits_of_roots(unsigned degree) {
  constexpr std::array<unsigned, rounds> primes = first_primes();
  std::array<std::uint32_t, Count> digits{};
  for (std::size_t i = 0; i < Count; ++i) digits[i] = digits_of_root(primes[i], degree);
  return digits;
}

constexpr std::array<std::uint32_t, rounds> round_constants = digits_of_roots<rounds>(3);

}  // namespace

constexpr std::array<std::uint32_t, 8> sha256::first_state = digits_of_roots<8>(2);

void sha256::update(std::string_view bytes) noexcept {
  std::size_t filled = bytes_ % block_bytes;
  bytes_ += bytes.size();
  while (!bytes.empty()) {
    const std::size_t taken = std::min(block_bytes - filled, bytes.size());
    std::memcpy(partial_.data() + filled, bytes.data(), taken);
    bytes.remove_prefix(taken);
    filled += taken;
    if (filled < block_bytes) return;
    take_block(partial_.data());
    filled = 0;
  }
}

void sha256::take_block(const unsigned char* block) noexcept {
  std::array<std::uint32_t, rounds> w;
  for (std::size_t i = 0; i < 16; ++i) {
    const unsigned char* const at = block + 4 * i;
    w[i] = static_cast<std::uint32_t>(at[0]) << 24 | static_cast<std::uint32_t>(at[1]) << 16 |
           static_cast<std::uint32_t>(at[2]) << 8 | at[3];
  }
  for (std::size_t i = 16; i < rounds; ++i) {
    const std::uint32_t s0 = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ (w[i - 15] >> 3);
    const std::uint32_t s1 = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ (w[i - 2] >> 10);
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
  auto [a, b, c, d, e, f, g, h] = state_;
  for (std::size_t i = 0; i < rounds; ++i) {
    const std::uint32_t s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    const std::uint32_t t1 = h + s1 + ((e & f) ^ (~e & g)) + round_constants[i] + w[i];
    const std::uint32_t s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    const std::uint32_t t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = d + t1;
    d = c;
    c = b;
    b = a;
    a = t1 + t2;
  }
  const std::array<std::uint32_t, 8> add{a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < add.size(); ++i) state_[i] += add[i];
}

std::string sha256::finish() {
  const std::uint64_t bits = bytes_ * 8;
  update(std::string_view{"\x80", 1});
  while (bytes_ % block_bytes != block_bytes - 8) update(std::string_view{"\0", 1});
  std::array<char, 8> length;
  for (std::size_t i = 0; i < length.size(); ++i)
    length[i] = static_cast<char>(bits >> (56 - 8 * i));
  update({length.data(), length.size()});
  std::string text;
  for (const std::uint32_t word : state_) {
    for (int shift = 28; shift >= 0; shift -= 4) text += "0123456789abcdef"[word >> shift & 15];
  }
  return text;
}

}  // namespace weir::compile
