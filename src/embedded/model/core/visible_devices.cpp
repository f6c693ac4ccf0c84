// SPDX-License-Identifier: Apache-2.0
// embedded/model/core/visible_devices.cpp - parses CUDA_VISIBLE_DEVICES.
#include "embedded/model/core/visible_devices.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <string>

namespace weir::embedded::model {

using namespace abi;

namespace {

constexpr std::string_view uuid_prefix = "GPU-";

// Returns a UUID as text, in groups of 8, 4, 4, 4 and 12 hexadecimal digits.
std::string text_of(const CUuuid& uuid) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (std::size_t i = 0; i < sizeof uuid.bytes; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    const auto byte = static_cast<unsigned char>(uuid.bytes[i]);
    text += digits[byte / 16];
    text += digits[byte % 16];
  }
  return text;
}

std::string_view trimmed(std::string_view text) noexcept {
  constexpr std::string_view blanks = " \t";
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

// Returns the number of the only device whose UUID begins with these digits, or -1.
int find_by_uuid(std::string_view first_digits, int count) {
  std::string wanted{first_digits};
  std::ranges::transform(wanted, wanted.begin(), [](char c) {
    return c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  int found = -1;
  for (int number = 0; number < count; ++number) {
    if (!text_of(uuid_of_device(number)).starts_with(wanted)) continue;
    if (found >= 0) return -1;
    found = number;
  }
  return found;
}

// Returns the number of the device that an entry names, or -1.
int find_device(std::string_view entry, int count) {
  if (entry.starts_with(uuid_prefix)) return find_by_uuid(entry.substr(uuid_prefix.size()), count);
  int number = -1;
  const char* const end = entry.data() + entry.size();
  const auto [rest, error] = std::from_chars(entry.data(), end, number);
  return error == std::errc{} && rest == end && number < count ? number : -1;
}

}  // namespace

CUuuid uuid_of_device(int number) noexcept {
  CUuuid id{};
  std::memcpy(id.bytes, "weir-embedded", 13);
  id.bytes[15] = static_cast<char>(number);
  return id;
}

std::vector<int> visible_devices(std::string_view list, int count) {
  std::vector<int> numbers;
  while (!list.empty()) {
    const std::size_t length = std::min(list.find(','), list.size());
    const int number = find_device(trimmed(list.substr(0, length)), count);
    if (number < 0) break;
    if (std::ranges::find(numbers, number) != numbers.end()) return {};
    numbers.push_back(number);
    list.remove_prefix(std::min(length + 1, list.size()));
  }
  return numbers;
}

}  // namespace weir::embedded::model
