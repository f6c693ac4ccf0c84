// SPDX-License-Identifier: Apache-2.0
// compile/cache/product_file.cpp - a product as the text of a file: a checksum, and every part
// behind its length.
#include "compile/cache/product_file.hpp"

#include <cstdint>
#include <cstring>

namespace weir::compile {
namespace {

// For what a disk or a crash does to a file; against forgery there are the file's owner and its
// name.
std::uint64_t checksum(std::string_view text) noexcept {
  std::uint64_t sum = text.size();
  while (!text.empty()) {
    std::uint64_t word = 0;
    const std::size_t taken = text.size() < sizeof(word) ? text.size() : sizeof(word);
    std::memcpy(&word, text.data(), taken);
    text.remove_prefix(taken);
    sum = (sum ^ word) * 0x9e3779b97f4a7c15;
    sum ^= sum >> 29;
  }
  return sum;
}

void append(std::string& text, std::uint64_t number) {
  text.append(reinterpret_cast<const char*>(&number), sizeof(number));
}

void append(std::string& text, std::string_view part) {
  append(text, part.size());
  text += part;
}

class reader {
 public:
  explicit reader(std::string_view text) noexcept : rest_{text} {}
  bool number(std::uint64_t& value) noexcept {
    if (rest_.size() < sizeof(value)) return false;
    std::memcpy(&value, rest_.data(), sizeof(value));
    rest_.remove_prefix(sizeof(value));
    return true;
  }
  bool part(std::string_view& value) noexcept {
    std::uint64_t size = 0;
    if (!number(size) || size > rest_.size()) return false;
    value = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return true;
  }
  [[nodiscard]] std::string_view rest() const noexcept { return rest_; }

 private:
  std::string_view rest_;
};

}  // namespace

std::string text_of(const product& what, std::string_view key) {
  std::string body;
  append(body, key);
  append(body,
         std::string_view{reinterpret_cast<const char*>(what.image.data()), what.image.size()});
  append(body, what.log);
  append(body, what.lowered_names.size());
  for (const auto& [expression, name] : what.lowered_names) {
    append(body, expression);
    append(body, name);
  }
  std::string text;
  text.reserve(sizeof(std::uint64_t) + body.size());
  append(text, checksum(body));
  return text += body;
}

std::optional<product> product_from(std::string_view text, std::string_view key) {
  reader in{text};
  std::uint64_t sum = 0;
  if (!in.number(sum) || checksum(in.rest()) != sum) return std::nullopt;
  std::string_view told_key;
  std::string_view image;
  std::string_view log;
  std::uint64_t names = 0;
  if (!in.part(told_key) || told_key != key || !in.part(image) || !in.part(log) ||
      !in.number(names)) {
    return std::nullopt;
  }
  product what;
  const auto* const bytes = reinterpret_cast<const std::byte*>(image.data());
  what.image.assign(bytes, bytes + image.size());
  what.log = log;
  for (std::uint64_t i = 0; i < names; ++i) {
    std::string_view expression;
    std::string_view name;
    if (!in.part(expression) || !in.part(name)) return std::nullopt;
    what.lowered_names.emplace_back(expression, name);
  }
  if (!in.rest().empty()) return std::nullopt;
  return what;
}

}  // namespace weir::compile
