// SPDX-License-Identifier: Apache-2.0
// model/core/settings.cpp - parses the environment variables of the embedded driver.
#include "embedded/model/core/settings.hpp"

#include <charconv>
#include <concepts>
#include <limits>
#include <string_view>
#include <utility>

#include "os/memory_limit.hpp"

namespace weir::embedded::model {
namespace {

constexpr int max_device_count = 64;
constexpr std::size_t min_memory = std::size_t{1} << 20;
constexpr std::size_t max_memory = std::size_t{1}
                                   << 46;  // half of the address space of today's processors

// Parses the whole text as a decimal number.
template <std::unsigned_integral Number>
std::optional<Number> parse_number(std::string_view text) noexcept {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || rest != end) return std::nullopt;
  return number;
}

std::optional<int> parse_devices(std::string_view text) noexcept {
  const auto count = parse_number<unsigned>(text);
  if (!count || *count < 1 || *count > unsigned{max_device_count}) return std::nullopt;
  return static_cast<int>(*count);
}

std::optional<std::size_t> parse_memory(std::string_view text) noexcept {
  int shift = 0;
  switch (text.empty() ? '\0' : text.back()) {
    case 'K': shift = 10; break;
    case 'M': shift = 20; break;
    case 'G': shift = 30; break;
    default: break;
  }
  if (shift != 0) text.remove_suffix(1);
  const auto count = parse_number<std::size_t>(text);
  if (!count || *count > std::numeric_limits<std::size_t>::max() >> shift) return std::nullopt;
  const std::size_t bytes = *count << shift;
  if (bytes < min_memory || bytes > max_memory) return std::nullopt;
  return bytes;
}

// Parses a prefix followed by a number.
std::optional<std::uint64_t> parse_seed(std::string_view text, std::string_view prefix) noexcept {
  if (!text.starts_with(prefix)) return std::nullopt;
  return parse_number<std::uint64_t>(text.substr(prefix.size()));
}

std::optional<engine::schedule> parse_schedule(std::string_view text) noexcept {
  using enum engine::schedule_kind;
  if (text == "parallel") return engine::schedule{parallel};
  if (text == "serial") return engine::schedule{serial};
  constexpr std::pair<std::string_view, engine::schedule_kind> with_seed[] = {
      {"random:", random},
      {"late:", late},
      {"early:", early},
      {"priority:", priority},
      {"explore:", explore}};
  for (const auto& [prefix, kind] : with_seed) {
    if (const auto seed = parse_seed(text, prefix)) return engine::schedule{kind, *seed};
  }
  return std::nullopt;
}

std::optional<kernel::thread_order> parse_threads(std::string_view text) noexcept {
  if (text == "ordered") return kernel::thread_order{};
  if (const auto seed = parse_seed(text, "random:")) return kernel::thread_order{true, *seed};
  return std::nullopt;
}

std::optional<host_waits> parse_waits(std::string_view text) noexcept {
  if (text == "gpu") return host_waits::as_gpu;
  if (text == "least") return host_waits::least;
  return std::nullopt;
}

std::optional<handle_values> parse_handles(std::string_view text) noexcept {
  if (text == "unique") return handle_values::unique;
  if (text == "reuse") return handle_values::reused;
  return std::nullopt;
}

// Stores the parsed value of a variable if it is set and not empty. Returns false and sets
// `diagnostic` if the value is invalid.
template <class Value>
bool read_variable(environment look_up, const char* name,
                   std::optional<Value> (*parse)(std::string_view) noexcept, const char* accepted,
                   Value& result, std::string& diagnostic) {
  const char* const text = look_up(name);
  if (text == nullptr || *text == '\0') return true;
  const std::optional<Value> value = parse(text);
  if (!value) {
    diagnostic = name;
    diagnostic.append(" is '").append(text).append("'; accepted is ").append(accepted);
    return false;
  }
  result = *value;
  return true;
}

}  // namespace

std::optional<settings> read_settings(environment look_up, std::string& diagnostic) {
  settings result;
  if (!read_variable(look_up, "WEIR_EMBEDDED_DEVICES", parse_devices, "a number from 1 to 64",
                     result.devices, diagnostic) ||
      !read_variable(
          look_up, "WEIR_EMBEDDED_MEMORY", parse_memory,
          "a number of bytes for each device, from 1M to 65536G, with K, M or G for 2^10, 2^20 "
          "or 2^30 of them",
          result.memory_per_device, diagnostic) ||
      !read_variable(look_up, "WEIR_EMBEDDED_SCHEDULE", parse_schedule,
                     "parallel, serial, or explore, random, late, early or priority followed by "
                     ":SEED, with a number as SEED",
                     result.schedule, diagnostic) ||
      !read_variable(look_up, "WEIR_EMBEDDED_THREADS", parse_threads,
                     "ordered or random:SEED, with a number as SEED", result.threads, diagnostic) ||
      !read_variable(look_up, "WEIR_EMBEDDED_WAITS", parse_waits, "gpu or least", result.waits,
                     diagnostic) ||
      !read_variable(look_up, "WEIR_EMBEDDED_HANDLES", parse_handles, "unique or reuse",
                     result.handles, diagnostic)) {
    return std::nullopt;
  }
  // The default is half of the memory for all devices together, because the program shares it.
  if (result.memory_per_device == 0)
    result.memory_per_device = host_memory() / 2 / static_cast<std::size_t>(result.devices);
  return result;
}

std::size_t host_memory() {
  static const std::size_t usable = os::usable_memory();
  return usable;
}

}  // namespace weir::embedded::model
