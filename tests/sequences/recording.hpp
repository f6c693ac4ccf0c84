// SPDX-License-Identifier: Apache-2.0
// sequences/recording.hpp - the answers of many sequences: written, read, hashed, compared.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <map>
#include <string>
#include <string_view>

namespace weir::sequences {

// Text by seed.
using recording = std::map<std::uint64_t, std::string>;

// Writes the full form: "seed 17", and the lines of the sequence below.
void write_text(const recording& from, const std::string& file);
[[nodiscard]] recording parse_text(std::istream& in);
[[nodiscard]] recording read_text(const std::string& file);

// Writes the short form: a 32-bit hash for each sequence, sixteen in a line after the first one's
// seed.
void write_hashes(const recording& from, const std::string& file, unsigned length);
struct hashes {
  unsigned length = 0;  // of each sequence, in steps
  std::map<std::uint64_t, std::uint32_t> of;
};
[[nodiscard]] hashes read_hashes(const std::string& file);
[[nodiscard]] std::uint32_t short_hash(std::string_view text);

// Prints the first difference of each seed that both have, with the lines before it. Returns the
// number of seeds that differ.
unsigned compare_text(const recording& expected, const recording& found, unsigned lines_before);

}  // namespace weir::sequences
