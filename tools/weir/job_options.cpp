// SPDX-License-Identifier: Apache-2.0
// tools/weir/job_options.cpp - names, ranges and descriptions of the common options.
#include "job_options.hpp"

#include <CLI/CLI.hpp>

#include <cctype>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <system_error>

namespace weir::tool {

namespace {

// Converts "512K" to bytes. CLI11's own conversion lists all its units in its error.
std::string parse_size(std::string& text) {
  constexpr std::string_view units = "KMG";
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  std::string_view unit{rest, static_cast<std::size_t>(end - rest)};
  std::size_t power = 0;
  if (!unit.empty()) {
    power = units.find(static_cast<char>(std::toupper(static_cast<unsigned char>(unit[0])))) + 1;
    unit.remove_prefix(1);
  }
  const bool has_unit_only = unit.empty() || unit == "B" || unit == "b" || unit == "iB";
  const bool is_known = power <= units.size() && (power != 0 || rest == end);
  if (error != std::errc{} || !has_unit_only || !is_known || value >> (63 - 10 * power) != 0)
    return "'" + text + "' is not a size: use a number, or one with K, M or G, such as 512K";
  text = std::to_string(value << (10 * power));
  return "";
}

}  // namespace

bool is_standard_stream(const std::string& name) noexcept { return name == "-"; }

std::string refuse_empty(const std::string& name) {
  return name.empty() ? "the name of the file is empty" : "";
}

void add_job_options(CLI::App& command, job_options& parsed) {
  command.add_option("FILE", parsed.file, "The file; without one, the compiler's own cc1plus")
      ->check(refuse_empty);
  command
      .add_option("--chunk", parsed.chunk_bytes,
                  "Size of a chunk, with K, M or G for powers of 1024")
      ->transform(CLI::Validator{parse_size, "SIZE"})
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 30))
      ->capture_default_str();
  command
      .add_option("--streams", parsed.streams, "Number of streams that one stream is compared with")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  command
      .add_option("--in-flight", parsed.in_flight, "Number of chunks that are under way at once")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  command.add_option("--device", parsed.device, "Number of the device")
      ->check(CLI::Range(0, std::numeric_limits<int>::max()))
      ->capture_default_str();
  command.add_option("--passes", parsed.passes, "How often each is measured; the best counts")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command.add_flag("--json", parsed.json, "Print the report as JSON");
}

}  // namespace weir::tool
