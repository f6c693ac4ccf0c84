// SPDX-License-Identifier: Apache-2.0
// sequences/main.cpp - random sequences of driver calls: run, recorded, compared. README.md
// describes its use.
#include "sequences/child_processes.hpp"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <optional>
#include <stdexcept>

namespace {

using namespace weir::sequences;

struct options {
  work_list work;
  std::string out, write_hashes, compare, check_hashes;
  unsigned before = 12;
  bool here = false;
};

// Parses seeds: "FROM..TO" and single ones, separated by commas.
std::vector<std::uint64_t> seeds_of(const std::string& text) {
  std::vector<std::uint64_t> seeds;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string part = text.substr(at, end - at);
    const std::size_t dots = part.find("..");
    const std::uint64_t first = std::stoull(part), last = dots == std::string::npos
                                                              ? first
                                                              : std::stoull(part.substr(dots + 2));
    for (std::uint64_t seed = first; seed <= last; ++seed) seeds.push_back(seed);
    at = end + 1;
  }
  return seeds;
}

options parse(int count, char** arguments) {
  options o;
  for (int i = 1; i < count; ++i) {
    const std::string argument = arguments[i];
    const std::size_t equal = std::min(argument.find('='), argument.size());
    const std::string name = argument.substr(0, equal),
                      value = argument.substr(std::min(equal + 1, argument.size()));
    if (name == "--seeds")
      o.work.seeds = seeds_of(value);
    else if (name == "--length")
      o.work.length = static_cast<unsigned>(std::stoul(value));
    else if (name == "--jobs")
      o.work.jobs = static_cast<unsigned>(std::stoul(value));
    else if (name == "--budget")
      o.work.budget = static_cast<unsigned>(std::stoul(value));
    else if (name == "--wild")
      o.work.allowed = handles::any;
    else if (name == "--out")
      o.out = value;
    else if (name == "--hashes")
      o.write_hashes = value;
    else if (name == "--compare")
      o.compare = value;
    else if (name == "--check")
      o.check_hashes = value;
    else if (name == "--before")
      o.before = static_cast<unsigned>(std::stoul(value));
    else if (name == "--here")
      o.here = true;
    else
      throw std::runtime_error{"no option is named " + name};
  }
  return o;
}

// Compares results with the hashes of a recording; prints the seeds that differ, the first of them
// in full.
int check(const hashes& expected, const recording& found) {
  unsigned different = 0;
  for (const auto& [seed, text] : found) {
    const auto hash = expected.of.find(seed);
    if (hash == expected.of.end())
      throw std::runtime_error{fmt::format("no answer is recorded to seed {}", seed)};
    if (hash->second == short_hash(text)) continue;
    if (different++ == 0)
      fmt::print("seed {} answers otherwise than recorded:\n{}", seed, text);
    else
      fmt::print("and seed {}\n", seed);
  }
  fmt::print("{} of {} sequences differ\n", different, found.size());
  return different == 0 ? 0 : 1;
}

int run(options o) {
  std::optional<hashes> expected;
  if (!o.check_hashes.empty()) {
    expected = read_hashes(o.check_hashes);
    o.work.length = expected->length;
  }
  std::optional<recording> before;
  if (!o.compare.empty()) before = read_text(o.compare);
  if (o.work.seeds.empty() && before) {
    for (const auto& [seed, text] : *before) o.work.seeds.push_back(seed);
  }
  if (o.work.seeds.empty() && expected) {
    for (const auto& [seed, hash] : expected->of) o.work.seeds.push_back(seed);
  }
  if (o.work.seeds.empty()) throw std::runtime_error{"which seeds? --seeds=FROM..TO"};
  if (o.here) {
    for (const std::uint64_t seed : o.work.seeds)
      fmt::print("seed {}\n{}", seed, run_here(seed, o.work.length, o.work.allowed));
    return 0;
  }
  const recording found = run_in_children(o.work);
  if (!o.out.empty()) write_text(found, o.out);
  if (!o.write_hashes.empty()) write_hashes(found, o.write_hashes, o.work.length);
  if (found.size() < o.work.seeds.size())
    throw std::runtime_error{
        fmt::format("only {} of {} sequences were reached", found.size(), o.work.seeds.size())};
  if (before) {
    const unsigned different = compare_text(*before, found, o.before);
    fmt::print("{} of {} sequences differ\n", different, found.size());
    return different == 0 ? 0 : 1;
  }
  if (expected) return check(*expected, found);
  if (o.out.empty() && o.write_hashes.empty()) {
    for (const auto& [seed, text] : found) fmt::print("seed {}\n{}", seed, text);
  }
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  try {
    return run(parse(count, arguments));
  } catch (const std::exception& e) {
    std::fprintf(stderr, "weir_sequences: %s\n", e.what());
    return 2;
  }
}
