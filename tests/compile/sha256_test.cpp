// SPDX-License-Identifier: Apache-2.0
// sha256_test.cpp - the test vectors of FIPS 180-4 and NIST.
#include "compile/cache/sha256.hpp"

#include <string>

#include <gtest/gtest.h>

namespace weir::compile {
namespace {

std::string hash_of(std::string_view text) {
  sha256 hash;
  hash.update(text);
  return hash.finish();
}

TEST(Sha256, HashesMatchTheReferenceValues) {
  EXPECT_EQ(hash_of(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hash_of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hash_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(hash_of(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

// Covers the lengths that just fit, and just do not fit, into the last block.
TEST(Sha256, HashingInPartsEqualsHashingAtOnce) {
  for (std::size_t size = 50; size < 140; ++size) {
    const std::string text(size, 'x');
    sha256 hash;
    for (std::size_t i = 0; i < size; i += 7) hash.update(std::string_view{text}.substr(i, 7));
    EXPECT_EQ(hash.finish(), hash_of(text)) << size;
  }
}

}  // namespace
}  // namespace weir::compile
