// SPDX-License-Identifier: Apache-2.0
// tools/weir/graph/driver_label.cpp - divides labels at their line ends and record separators.
#include "graph/driver_label.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>

namespace weir::tool {
namespace {

// A group of fields in braces.
struct record_group {
  std::size_t parent = 0;
  std::vector<std::string> fields;
  std::vector<std::size_t> groups;  // indices of the groups inside
};

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view space = " \t\r\n";
  const std::size_t first = text.find_first_not_of(space);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(space) - first + 1);
}

// Adds the lines of a text that are not empty.
void add_lines(std::string_view text, std::vector<std::string>& lines) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (const std::string_view line = trimmed(text.substr(0, end)); !line.empty())
      lines.emplace_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

// Returns the text that an escape in a label stands for.
char unescaped(char c) { return c == 'n' || c == 'l' || c == 'r' ? '\n' : c; }

// Reads the groups of a record without recursion, because the text may nest at any depth. The first
// group is the whole label.
std::vector<record_group> groups_of(std::string_view label) {
  std::vector<record_group> groups(1);
  std::size_t current = 0;
  std::string field;
  bool expects_field = false;  // after an opening brace or a separator
  const auto end_field = [&](char end) {
    if (const std::string_view text = trimmed(field);
        !text.empty() || (expects_field && end != '{'))
      groups[current].fields.emplace_back(text);
    field.clear();
    expects_field = end != '}';
  };
  for (std::size_t i = 0; i < label.size(); ++i) {
    const char c = label[i];
    if (c == '\\' && i + 1 < label.size()) {
      field += unescaped(label[++i]);
    } else if (c == '{') {
      end_field(c);
      groups[current].groups.push_back(groups.size());
      groups.push_back({.parent = current, .fields = {}, .groups = {}});
      current = groups.size() - 1;
    } else if (c == '|' || c == '}') {
      end_field(c);
      if (c == '}') current = groups[current].parent;
    } else {
      field += c;
    }
  }
  return groups;
}

// Returns the indices of the last two groups inside `group` if they have equally many fields: the
// names, then their values. One group with another number of fields may precede them, such as
// {src | dst} in the label of a copy. Returns nothing for any other group.
std::optional<std::pair<std::size_t, std::size_t>> names_and_values(
    const std::vector<record_group>& groups, const record_group& group) {
  const std::size_t count = group.groups.size();
  if (count != 2 && count != 3) return std::nullopt;
  const std::size_t names = group.groups[count - 2];
  const std::size_t values = group.groups[count - 1];
  const std::size_t size = groups[names].fields.size();
  if (!groups[names].groups.empty() || !groups[values].groups.empty()) return std::nullopt;
  if (size != groups[values].fields.size()) return std::nullopt;
  if (count == 3 && size == groups[group.groups[0]].fields.size()) return std::nullopt;
  return std::pair{names, values};
}

}  // namespace

bool driver_label::contains(std::string_view word) const {
  return std::ranges::find(words, word) != words.end();
}

std::string_view driver_label::value(std::string_view name) const {
  const auto found = std::find_if(values.rbegin(), values.rend(),
                                  [name](const auto& value) { return value.first == name; });
  return found == values.rend() ? std::string_view{} : found->second;
}

driver_label read_plain_label(std::string_view label) {
  std::string text;
  for (std::size_t i = 0; i < label.size(); ++i)
    text += label[i] == '\\' && i + 1 < label.size() ? unescaped(label[++i]) : label[i];
  driver_label read;
  add_lines(text, read.words);
  for (const std::string& line : read.words) {
    if (const std::size_t colon = line.find(": "); colon != std::string::npos)
      read.values.emplace_back(line.substr(0, colon), line.substr(colon + 2));
  }
  return read;
}

driver_label read_record_label(std::string_view label) {
  const std::vector<record_group> groups = groups_of(label);
  driver_label read;
  std::vector<bool> used(groups.size());
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const record_group& group = groups[i];
    for (const std::string& field : group.fields) add_lines(field, read.words);
    if (const auto found = names_and_values(groups, group)) {
      const auto [names, values] = *found;
      for (std::size_t k = 0; k < groups[names].fields.size(); ++k)
        read.values.emplace_back(groups[names].fields[k], groups[values].fields[k]);
      used[names] = used[values] = true;
    }
    if (!used[i] && group.groups.empty() && group.fields.size() == 2)
      read.values.emplace_back(group.fields[0], group.fields[1]);
  }
  return read;
}

}  // namespace weir::tool
