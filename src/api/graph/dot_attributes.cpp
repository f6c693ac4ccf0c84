// SPDX-License-Identifier: Apache-2.0
// api/graph/dot_attributes.cpp - finds nodes in a DOT description by their handles.
#include "api/graph/dot_attributes.hpp"

#include "api/graph/graph_metadata.hpp"
#include "api/profiler/names.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstddef>
#include <vector>

namespace weir::detail {
namespace {

// Returns ` name="text"`. Escapes quotes and backslashes, and omits bytes with the value 0, which
// DOT strings cannot contain.
std::string dot_attribute(std::string_view name, std::string_view text) {
  std::string quoted;
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    if (c != '\0') quoted += c;
  }
  return fmt::format(" {}=\"{}\"", name, quoted);
}

void add_attributes(graph_metadata_store& store, CUgraph graph, dot_attributes& all) {
  const graph_metadata* const found = store.find(graph);
  if (found == nullptr) return;
  dot_attributes added;
  for (const node_call_site& site : found->sites) {
    added[reinterpret_cast<std::uintptr_t>(site.node)] =
        site.line == 0
            ? ""
            : dot_attribute("weir_call_site", fmt::format("{}:{}", site.file, site.line));
  }
  for (const auto& [node, metadata] : found->nodes) {
    if (!metadata.tag.empty())
      added[reinterpret_cast<std::uintptr_t>(node)] += dot_attribute("weir_tag", metadata.tag);
  }
  all.merge(added);
  for (const CUgraph part : found->parts) add_attributes(store, part, all);
}

// The names of nodes before their attributes in a DOT text, and the hexadecimal numbers in it.
class dot_scan {
 public:
  struct number {
    std::uintptr_t value = 0;
    std::size_t names = 0;  // number of names that precede it; the last one is its node
  };

  explicit dot_scan(std::string_view text) : text_{text} {
    std::size_t position = 0;
    while ((position = text_.find_first_of("\"x", position)) != std::string_view::npos)
      position = text_[position] == '"' ? read_name(position + 1) : read_number(position + 1);
  }

  [[nodiscard]] const std::vector<std::string_view>& names() const noexcept { return names_; }
  [[nodiscard]] const std::vector<number>& numbers() const noexcept { return numbers_; }

 private:
  // Reads a node name, `"NAME" [`, behind its opening quote. Returns the position after it. Any
  // other quoted text is not skipped, because verbose texts contain handles: returns `start` then.
  [[nodiscard]] std::size_t read_name(std::size_t start) {
    const std::size_t end = text_.find('"', start);
    if (end == std::string_view::npos) return end;
    const std::size_t list = text_.find_first_not_of(' ', end + 1);
    if (list == std::string_view::npos || text_[list] != '[') return start;
    if (text_.substr(0, start - 1).ends_with("-> ")) return list;  // an edge
    names_.push_back(text_.substr(start, end - start));
    return list;
  }
  // Reads a hexadecimal number behind its "0x". Returns the position after it, or `start` if there
  // is none.
  [[nodiscard]] std::size_t read_number(std::size_t start) {
    if (start < 2 || text_[start - 2] != '0') return start;
    constexpr int hexadecimal = 16;
    number found{0, names_.size()};
    const char* const first = text_.data() + start;
    const char* const end =
        std::from_chars(first, text_.data() + text_.size(), found.value, hexadecimal).ptr;
    if (end != first) numbers_.push_back(found);
    return start + static_cast<std::size_t>(end - first);
  }

  std::string_view text_;
  std::vector<std::string_view> names_;
  std::vector<number> numbers_;
};

}  // namespace

dot_attributes attributes_of_nodes(CUgraph graph) {
  dot_attributes all;
  if (!any_graph_metadata()) return all;
  const locked_metadata_store store;
  add_attributes(*store, graph, all);
  return all;
}

std::string attribute_statements(std::string_view text, std::string_view text_with_handles,
                                 const dot_attributes& attributes) {
  const std::vector<std::string_view> names = dot_scan{text}.names();
  std::string statements;
  const dot_scan scan{text_with_handles};
  for (const dot_scan::number& handle : scan.numbers()) {
    if (handle.names == 0 || handle.names > names.size()) continue;
    const auto found = attributes.find(handle.value);
    std::string added = found == attributes.end() ? "" : found->second;
    const std::string event = find_name(object_kind::event, handle.value);
    if (!event.empty()) added += dot_attribute("weir_event", event);
    if (!added.empty())
      statements += fmt::format("\"{}\"[{}];\n", names[handle.names - 1], added.substr(1));
  }
  return statements;
}

}  // namespace weir::detail
