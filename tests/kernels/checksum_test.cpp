// SPDX-License-Identifier: Apache-2.0
// checksum_test.cpp - kernels that compute checksums and hashes.
#include <algorithm>
#include <cstdint>
#include <string>

#include "kernels/harness/kernel_fixture.hpp"

namespace weir::test {
namespace {

std::uint32_t crc32_of(const std::uint8_t* data, std::size_t size) {
  std::uint32_t crc = ~0u;
  for (std::size_t i = 0; i < size; ++i) {
    crc ^= data[i];
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 1) != 0 ? crc >> 1 ^ 0xedb88320u : crc >> 1;
  }
  return ~crc;
}

class Checksum : public kernel_fixture {
 protected:
  const module& code = kernel_module("checksum");
};

TEST_F(Checksum, Crc32IsComputedByChunks) {
  const auto* const check = reinterpret_cast<const std::uint8_t*>("123456789");
  ASSERT_EQ(crc32_of(check, 9), 0xcbf43926u);
  buffer<std::uint32_t> made{s, 256};
  run(s, {.block = {256}}, code.kernel("make_crc_table"), made);
  copy(s, made, code.global<std::uint32_t[256]>("crc_table"));
  const std::size_t size = 50021;
  const auto data = random_values<std::uint8_t>(size, 0, 255);
  for (const unsigned chunk : {97u, 1024u}) {
    std::vector<std::uint32_t> expected;
    for (std::size_t i = 0; i < size; i += chunk) {
      expected.push_back(crc32_of(&data[i], std::min<std::size_t>(chunk, size - i)));
    }
    for (const unsigned block : {32u, 100u}) {
      trial t{s};
      auto& bytes = t.array_of(data);
      auto& sums = t.zeros<std::uint32_t>(expected.size());
      t.run(
          [&](stream_ref on) {
            run(on, grid_1d(expected.size(), block), code.kernel("crc32"), bytes, size, chunk,
                sums);
          },
          [&] { expect_equal(sums.read(), expected); });
    }
  }
}

TEST_F(Checksum, Adler32IsComputedByBlocks) {
  const unsigned size = 30011;
  const unsigned chunk = 4096;
  const auto data = random_values<std::uint8_t>(size, 0, 255);
  std::vector<std::uint32_t> expected;
  for (unsigned begin = 0; begin < size; begin += chunk) {
    std::uint32_t low = 1;
    std::uint32_t high = 0;
    for (unsigned i = begin; i < std::min(begin + chunk, size); ++i) {
      low = (low + data[i]) % 65521;
      high = (high + low) % 65521;
    }
    expected.push_back(high << 16 | low);
  }
  for (const unsigned block : {1u, 100u, 256u}) {
    trial t{s};
    auto& bytes = t.array_of(data);
    auto& sums = t.zeros<std::uint32_t>(expected.size());
    const launch_config config{.grid = {blocks_for(size, chunk)}, .block = {block}};
    t.run([&](stream_ref on) { run(on, config, code.kernel("adler32"), bytes, size, chunk, sums); },
          [&] { expect_equal(sums.read(), expected); });
  }
}

TEST_F(Checksum, StringsAreHashed) {
  const int n = 401;
  const std::vector<int> lengths = random_values<int>(n, 0, 40);
  std::vector<std::uint32_t> starts{0};
  for (const int length : lengths)
    starts.push_back(starts.back() + static_cast<std::uint32_t>(length));
  const auto text = random_values<char>(starts.back(), -128, 127, 2);
  std::vector<unsigned long long> expected;
  for (int i = 0; i < n; ++i) {
    unsigned long long hash = 0xcbf29ce484222325ULL;
    for (unsigned k = starts[i]; k < starts[i + 1]; ++k) {
      hash ^= static_cast<std::uint8_t>(text[k]);
      hash *= 0x100000001b3ULL;
    }
    expected.push_back(hash);
  }
  trial t{s};
  auto& bytes = t.array_of(text);
  auto& places = t.array_of(starts);
  auto& hashes = t.zeros<unsigned long long>(n);
  t.run(
      [&](stream_ref on) {
        run(on, {.grid = {3}, .block = {50}}, code.kernel("hash_strings"), bytes, places, hashes,
            n);
      },
      [&] { expect_equal(hashes.read(), expected); });
}

// Published SHA-256 digests of four zero bytes and of "abcd"; all digests are checked by their
// CRC-32, computed with Python's hashlib and zlib.
TEST_F(Checksum, Sha256MatchesTheReferenceDigests) {
  const std::vector<std::uint32_t> of_zeros = {0xdf3f6198, 0x04a92fdb, 0x4057192d, 0xc43dd748,
                                               0xea778adc, 0x52bc498c, 0xe80524c0, 0x14b81119};
  const std::vector<std::uint32_t> of_abcd = {0x88d4266f, 0xd4e6338d, 0x13b845fc, 0xf289579d,
                                              0x209c8978, 0x23b9217d, 0xa3e16193, 0x6f031589};
  const kernel sha = code.kernel("sha256_of_numbers");
  for (const unsigned block : {32u, 70u}) {
    const unsigned n = 333;
    trial t{s};
    auto& digests = t.zeros<std::uint32_t>(8 * n);
    auto& abcd = t.zeros<std::uint32_t>(8);
    t.run(
        [&](stream_ref on) {
          run(on, grid_1d(n, block), sha, 0u, n, digests);
          run(on, grid_1d(1, block), sha, 0x61626364u, 1u, abcd);
        },
        [&] {
          std::vector<std::uint32_t> all = digests.read();
          EXPECT_EQ(crc32_of(reinterpret_cast<const std::uint8_t*>(all.data()), all.size() * 4),
                    0x8ca02e59u);
          all.resize(8);
          expect_equal(all, of_zeros);
          expect_equal(abcd.read(), of_abcd);
        });
  }
}

}  // namespace
}  // namespace weir::test
