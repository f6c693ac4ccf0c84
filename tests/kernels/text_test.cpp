// SPDX-License-Identifier: Apache-2.0
// text_test.cpp - kernels over byte strings.
#include <algorithm>
#include <cctype>
#include <cstdint>
#include <numeric>
#include <string>
#include <string_view>

#include "kernels/harness/kernel_fixture.hpp"

namespace weir::test {
namespace {

std::vector<char> some_text(std::size_t size) {
  constexpr std::string_view words[] = {"the ",  "quick", " brown-", "Fox, ", "jumps\n",
                                        "over ", "a",     "Dog. ",   "x9"};
  std::vector<char> text;
  for (const int word : random_values<int>(size, 0, 8))
    text.insert(text.end(), words[word].begin(), words[word].end());
  text.resize(size);
  return text;
}

class Text : public kernel_fixture {
 protected:
  const module& code = kernel_module("text");
};

TEST_F(Text, LettersAreConvertedToUpperCase) {
  const std::vector<char> text = some_text(3001);
  std::vector<char> expected = text;
  for (char& c : expected) c = static_cast<char>(std::toupper(c));
  trial t{s};
  auto& bytes = t.array_of(text);
  t.run([&](stream_ref on) { run(on, grid_1d(3001, 128), code.kernel("to_upper"), bytes, 3001); },
        [&] { expect_equal(bytes.read(), expected); });
}

TEST_F(Text, WordsAreCounted) {
  const std::vector<char> text = some_text(5003);
  std::uint32_t expected = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    expected += std::isalpha(text[i]) != 0 && (i == 0 || std::isalpha(text[i - 1]) == 0) ? 1 : 0;
  }
  for (const unsigned block : {32u, 224u}) {
    trial t{s};
    auto& bytes = t.array_of(text);
    auto& words = t.zeros<std::uint32_t>(1);
    t.run(
        [&](stream_ref on) {
          run(on, grid_1d(5003, block), code.kernel("count_words"), bytes, 5003, words);
        },
        [&] { expect_equal(words.read(), {expected}); });
  }
}

TEST_F(Text, BytesAreEncodedInHexAndBase64) {
  constexpr std::string_view letters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (const unsigned n : {1u, 2u, 3u, 1000u}) {
    const auto bytes = random_values<std::uint8_t>(n, 0, 255);
    std::vector<char> hex;
    for (const std::uint8_t byte : bytes) {
      hex.push_back("0123456789abcdef"[byte / 16]);
      hex.push_back("0123456789abcdef"[byte % 16]);
    }
    std::vector<char> base64;
    unsigned held = 0;
    int bits = 0;
    for (const std::uint8_t byte : bytes) {
      held = held << 8 | byte;
      for (bits += 8; bits >= 6;) base64.push_back(letters[held >> (bits -= 6) & 63]);
    }
    if (bits > 0) base64.push_back(letters[held << (6 - bits) & 63]);
    while (base64.size() % 4 != 0) base64.push_back('=');
    trial t{s};
    auto& in = t.array_of(bytes);
    auto& as_hex = t.zeros<char>(hex.size());
    auto& as_base64 = t.zeros<char>(base64.size());
    t.run(
        [&](stream_ref on) {
          run(on, grid_1d(n, 96), code.kernel("to_hex"), in, static_cast<int>(n), as_hex);
          run(on, grid_1d(blocks_for(n, 3), 50), code.kernel("to_base64"), in, n, as_base64);
        },
        [&] {
          expect_equal(as_hex.read(), hex);
          expect_equal(as_base64.read(), base64);
        });
  }
}

TEST_F(Text, APatternIsFound) {
  struct pattern {
    char text[12];
    int length;
  };
  const int n = 4001;
  const std::vector<char> text = some_text(n);
  const pattern wanted{"over a", 6};
  std::vector<int> expected;
  const std::string_view all{text.data(), text.size()};
  for (std::size_t at = all.find("over a"); at != all.npos; at = all.find("over a", at + 1)) {
    expected.push_back(static_cast<int>(at));
  }
  ASSERT_GT(expected.size(), 5u);
  trial t{s};
  auto& bytes = t.array_of(text);
  auto& places = t.zeros<int>(n);
  auto& count = t.zeros<int>(1);
  t.run(
      [&](stream_ref on) {
        run(on, grid_1d(n, 160), code.kernel("find_all"), bytes, n, wanted, places, count);
      },
      [&] {
        const int found = count.read()[0];
        ASSERT_EQ(found, static_cast<int>(expected.size()));
        std::vector<int> sorted = places.read();
        sorted.resize(found);
        std::ranges::sort(sorted);
        expect_equal(sorted, expected);
      });
}

TEST_F(Text, CodePointsAreCounted) {
  std::string text;
  for (const int kind : random_values<int>(1500, 0, 3))
    text += std::string{kind == 0 ? "a" : kind == 1 ? "é" : kind == 2 ? "€" : "😀"};
  text.resize(text.size() / 4 * 4);
  int expected = 0;
  for (const char c : text) expected += (static_cast<std::uint8_t>(c) & 0xc0) != 0x80 ? 1 : 0;
  const int n = static_cast<int>(text.size() / 4);
  for (const unsigned block : {32u, 100u}) {
    trial t{s};
    auto& bytes = t.array_of(std::vector<char>(text.begin(), text.end()));
    auto& count = t.zeros<int>(1);
    t.run(
        [&](stream_ref on) {
          run(on, {.grid = {3}, .block = {block}}, code.kernel("count_code_points"), bytes, n,
              count);
        },
        [&] { expect_equal(count.read(), {expected}); });
  }
}

TEST_F(Text, TheEditDistanceIsComputed) {
  const std::vector<char> a = some_text(75);
  std::vector<char> b = some_text(113);
  std::rotate(b.begin(), b.begin() + 7, b.end());
  std::vector<int> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    int diagonal = row[0];
    row[0] = static_cast<int>(i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const int above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  const int na = static_cast<int>(a.size());
  const int nb = static_cast<int>(b.size());
  for (const unsigned block : {1u, 32u, 75u, 128u}) {
    trial t{s};
    auto& as = t.array_of(a);
    auto& bs = t.array_of(b);
    auto& distance = t.zeros<int>(1);
    const launch_config config{.block = {block},
                               .shared_bytes = static_cast<unsigned>(3 * (na + 1) * sizeof(int))};
    t.run(
        [&](stream_ref on) {
          run(on, config, code.kernel("edit_distance"), as, na, bs, nb, distance);
        },
        [&] { expect_equal(distance.read(), {row.back()}); });
  }
}

}  // namespace
}  // namespace weir::test
