// SPDX-License-Identifier: Apache-2.0
// The kernels of `weir scan` on memory of every size and contents that is hard to handle, compared
// with zlib and a plain loop.
#include "scan/kernels.hpp"

#include "checksum.hpp"
#include "compile/request.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <vector>
#include <weir/memory/buffer.hpp>
#include <weir/memory/copy.hpp>
#include <weir/memory/fill.hpp>

namespace weir::tool::scan {
namespace {

class ScanKernels : public testing::Test {
 protected:
  static void SetUpTestSuite() { code = std::make_unique<kernels>(device{}); }
  static void TearDownTestSuite() { code.reset(); }

  // Runs the kernels on bytes with `junk` units of other data around them.
  void expect_right(const std::vector<std::byte>& bytes, std::size_t junk = 0) {
    const std::size_t whole = whole_units(bytes.size());
    buffer<std::byte> room{s, whole + 2 * junk * unit_bytes};
    buffer<std::uint32_t> found{s, found_words};
    const std::span units{room.data() + junk * unit_bytes, whole};
    fill(s, room, std::byte{0xa5});
    fill(s, units, std::byte{0});
    copy(s, bytes, units.last(bytes.size()));
    fill(s, found, 0u);
    code->queue(s, units, {found.data(), found.size()});
    std::vector<std::uint32_t> host_words(found_words);
    copy(s, found, host_words);
    s.sync();

    EXPECT_EQ(~crc32_joined(~0u, host_words[0], bytes.size()), crc32_of(0, bytes));
    std::vector<std::uint32_t> counts(256);
    for (const std::byte b : bytes) ++counts[static_cast<unsigned char>(b)];
    counts[0] += static_cast<std::uint32_t>(whole - bytes.size());
    EXPECT_TRUE(std::ranges::equal(counts, std::span{host_words}.subspan(1)));
  }

  static std::vector<std::byte> random_bytes(std::size_t size) {
    std::minstd_rand random{static_cast<unsigned>(size)};
    std::vector<std::byte> bytes(size);
    for (std::byte& b : bytes) b = static_cast<std::byte>(random() >> 8);
    return bytes;
  }

  static inline std::unique_ptr<kernels> code;
  stream s{device{}};
};

// Sizes from one byte across all boundaries of units, rows and tiles.
TEST_F(ScanKernels, KernelsHandleEverySize) {
  for (const std::size_t size :
       {1,      2,      15,      16,      17,      31,        32,       33,
        511,    512,    513,     1024,    8191,    8192,      8193,     16'384,
        24'577, 65'536, 100'003, 262'144, 262'145, 1'000'003, 4'194'304}) {
    SCOPED_TRACE(size);
    expect_right(random_bytes(size));
  }
}

TEST_F(ScanKernels, KernelsCountEachByteValue) {
  for (int b = 0; b < 256; ++b) expect_right({static_cast<std::byte>(b)});
}

TEST_F(ScanKernels, KernelsHandleEqualBytes) {
  for (const int b : {0x00, 0x01, 0x80, 0xff})
    expect_right(std::vector<std::byte>(70'001, static_cast<std::byte>(b)));
}

// A single bit among zeros has a distinct remainder at each position.
TEST_F(ScanKernels, KernelsDetectOneBitAnywhere) {
  std::vector<std::byte> bytes(40'000);
  for (std::size_t bit = 0; bit < 8 * bytes.size(); bit += 12'347) {
    SCOPED_TRACE(bit);
    bytes[bit / 8] = static_cast<std::byte>(1 << bit % 8);
    expect_right(bytes);
    bytes[bit / 8] = std::byte{0};
  }
}

TEST_F(ScanKernels, KernelsIgnoreBytesOutsideTheChunk) {
  for (const std::size_t size : {1, 4096, 8193}) expect_right(random_bytes(size), 64);
}

TEST(ScanKernelText, TheKernelSourceCompilesForGpusWithoutAWarning) {
  try {
    static_cast<void>(compile::nvrtc_identity());
  } catch (const compile::failure& missing) {
    GTEST_SKIP() << missing.what();
  }
  compile::request what;
  what.source = kernel_text();
  what.architecture = "sm_90";
  const compile::product made = compile::with_nvrtc(what);
  EXPECT_FALSE(made.image.empty());
  EXPECT_EQ(made.log, "");
}

// Findings are added to earlier ones: two halves into one.
TEST_F(ScanKernels, KernelsAddToEarlierResults) {
  const std::vector<std::byte> bytes = random_bytes(20'000);
  buffer<std::byte> room{s, bytes.size()};
  buffer<std::uint32_t> found{s, found_words};
  copy(s, bytes, room);
  fill(s, found, 0u);
  for (int i = 0; i < 2; ++i)
    code->queue(s, {room.data(), room.size()}, {found.data(), found.size()});
  std::vector<std::uint32_t> host_words(found_words);
  copy(s, found, host_words);
  s.sync();
  EXPECT_EQ(host_words[0], 0u);
  EXPECT_EQ(host_words[1 + static_cast<unsigned char>(bytes[0])] % 2, 0u);
}

}  // namespace
}  // namespace weir::tool::scan
