// SPDX-License-Identifier: Apache-2.0
// sequences/recording.cpp - the answers of many sequences: written, read, hashed, compared.
#include "sequences/recording.hpp"

#include "sequences/transcript.hpp"

#include <cstdio>
#include <fstream>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <vector>

namespace weir::sequences {
namespace {

std::ifstream open_to_read(const std::string& file) {
  std::ifstream in{file};
  if (!in) throw std::runtime_error{"cannot read " + file};
  return in;
}

std::ofstream open_to_write(const std::string& file) {
  std::ofstream out{file};
  if (!out) throw std::runtime_error{"cannot write " + file};
  return out;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in{text};
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

void print_difference(std::uint64_t seed, const std::vector<std::string>& expected,
                      const std::vector<std::string>& found, std::size_t before) {
  std::size_t at = 0;
  while (at < expected.size() && at < found.size() && expected[at] == found[at]) ++at;
  fmt::print("seed {}, line {}\n", seed, at + 1);
  for (std::size_t i = at > before ? at - before : 0; i < at; ++i)
    fmt::print("    {}\n", expected[i]);
  fmt::print("  - {}\n", at < expected.size() ? expected[at] : "(end)");
  fmt::print("  + {}\n", at < found.size() ? found[at] : "(end)");
}

}  // namespace

void write_text(const recording& from, const std::string& file) {
  std::ofstream out = open_to_write(file);
  for (const auto& [seed, text] : from) out << "seed " << seed << '\n' << text;
}

recording parse_text(std::istream& in) {
  recording all;
  std::string* current = nullptr;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("seed "))
      current = &(all[std::stoull(line.substr(5))] = {});
    else if (current != nullptr)
      *current += line + '\n';
  }
  return all;
}

recording read_text(const std::string& file) {
  if (file == "-") return parse_text(std::cin);
  std::ifstream in = open_to_read(file);
  return parse_text(in);
}

std::uint32_t short_hash(std::string_view text) {
  return static_cast<std::uint32_t>(hash_of(text));
}

void write_hashes(const recording& from, const std::string& file, unsigned length) {
  std::ofstream out = open_to_write(file);
  out << fmt::format("length {}", length);
  std::uint64_t expected = 0;
  unsigned in_line = 16;
  for (const auto& [seed, text] : from) {
    if (in_line == 16 || seed != expected) {
      out << fmt::format("\n{}", seed);
      in_line = 0;
    }
    out << fmt::format(" {:08x}", short_hash(text));
    ++in_line;
    expected = seed + 1;
  }
  out << '\n';
}

hashes read_hashes(const std::string& file) {
  std::ifstream in = open_to_read(file);
  hashes all;
  std::string word;
  in >> word >> all.length >> std::ws;
  if (word != "length") throw std::runtime_error{file + " is not a list of hashes"};
  for (std::string line; std::getline(in, line);) {
    std::istringstream words{line};
    std::uint64_t seed = 0;
    words >> seed;
    for (std::string hash; words >> hash; ++seed)
      all.of[seed] = static_cast<std::uint32_t>(std::stoul(hash, nullptr, 16));
  }
  return all;
}

unsigned compare_text(const recording& expected, const recording& found, unsigned lines_before) {
  unsigned different = 0;
  for (const auto& [seed, text] : found) {
    const auto other = expected.find(seed);
    if (other == expected.end() || other->second == text) continue;
    ++different;
    print_difference(seed, lines_of(other->second), lines_of(text), lines_before);
  }
  return different;
}

}  // namespace weir::sequences
