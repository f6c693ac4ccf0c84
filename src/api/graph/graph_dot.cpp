// SPDX-License-Identifier: Apache-2.0
// api/graph/graph_dot.cpp - a graph in the DOT format of the driver, with what weir stores about
// its nodes.
#include <weir/core/to_string.hpp>
#include <weir/graph/graph.hpp>

#include "api/core/atomic_file.hpp"
#include "api/core/check.hpp"
#include "api/graph/graph_checks.hpp"
#include "api/graph/graph_metadata.hpp"
#include "api/profiler/names.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace weir {
namespace detail {
namespace {

// A map from node handles to DOT attributes, such as `weir_tag="load"
// weir_call_site="main.cpp:12"`.
using dot_attributes = std::unordered_map<std::uintptr_t, std::string>;

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
  for (const auto& [node, file, line] : found->sites) {
    added[reinterpret_cast<std::uintptr_t>(node)] =
        line == 0 ? "" : dot_attribute("weir_call_site", fmt::format("{}:{}", file, line));
  }
  for (const auto& [node, metadata] : found->nodes) {
    if (!metadata.tag.empty())
      added[reinterpret_cast<std::uintptr_t>(node)] += dot_attribute("weir_tag", metadata.tag);
  }
  all.merge(added);
  for (const auto& [node, part] : found->parts) add_attributes(store, part, all);
}

// The names in the node statements of a DOT text, and the hexadecimal numbers in the text.
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
  // Reads a quoted text behind its opening quote. Before ` [`, it is the name of a node, which is
  // stored, or the end of an edge. Returns the position after either. Any other text is not
  // skipped, because verbose texts contain handles: returns `start` then.
  [[nodiscard]] std::size_t read_name(std::size_t start) {
    const std::size_t end = text_.find('"', start);
    if (end == std::string_view::npos) return end;
    const std::size_t list = text_.find_first_not_of(' ', end + 1);
    if (list == std::string_view::npos || text_[list] != '[') return start;
    if (text_.substr(0, start - 1).ends_with("-> ")) return list;  // an edge
    names_.push_back(text_.substr(start, end - start));
    return list;
  }
  // Stores the hexadecimal number at `start`, which follows its "0x". Returns the position after
  // the number, or `start` if there is no number.
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

// Returns the attributes of all nodes that have a tag or a call site, in the graph, its child
// graphs and its bodies. Makes no driver call.
dot_attributes attributes_of_nodes(CUgraph graph) {
  dot_attributes all;
  if (!any_graph_metadata()) return all;
  const locked_metadata_store store;
  add_attributes(*store, graph, all);
  return all;
}

// Returns DOT statements that add `attributes`, and the names of events, to the nodes of `text`.
//
// `text` and `text_with_handles` are two DOT descriptions of one graph by the driver. The second
// one contains the handles of nodes and events. Both list the nodes in one order, but may name a
// node differently.
std::string attribute_statements(std::string_view text, std::string_view text_with_handles,
                                 const dot_attributes& attributes) {
  const std::vector<std::string_view> names = dot_scan{text}.names();
  std::string statements;
  const dot_scan scan{text_with_handles};
  for (const dot_scan::number& handle : scan.numbers()) {
    if (handle.names == 0 || handle.names > names.size()) continue;
    const auto found = attributes.find(handle.value);
    std::string added = found == attributes.end() ? "" : found->second;
    const std::string event = find_name(event_ref{reinterpret_cast<CUevent>(handle.value)});
    if (!event.empty()) added += dot_attribute("weir_event", event);
    if (!added.empty())
      statements += fmt::format("\"{}\"[{}];\n", names[handle.names - 1], added.substr(1));
  }
  return statements;
}

}  // namespace
}  // namespace detail

using detail::check;
using detail::driver;
using detail::require_open;
using detail::subject;

namespace {

constexpr const char* dot_call = "cuGraphDebugDotPrint";

// A file without a name in memory, to which the driver writes its description. It disappears when
// it is closed, even if the process crashes.
class anonymous_file {
 public:
  explicit anonymous_file(graph_ref g, call_site at)
      : descriptor_{::memfd_create("weir graph", MFD_CLOEXEC)} {
    if (descriptor_ < 0) {
      detail::throw_error(
          errc::operating_system, "memfd_create", to_string(g),
          "no temporary file for the description could be created; free memory or file "
          "descriptors",
          at);
    }
  }
  anonymous_file(const anonymous_file&) = delete;
  anonymous_file& operator=(const anonymous_file&) = delete;
  ~anonymous_file() { ::close(descriptor_); }

  [[nodiscard]] std::string path() const { return fmt::format("/proc/self/fd/{}", descriptor_); }
  [[nodiscard]] std::string text() const {
    struct ::stat status = {};
    if (::fstat(descriptor_, &status) != 0) return {};
    std::string text(static_cast<std::size_t>(status.st_size), '\0');
    std::size_t have = 0;
    while (have < text.size()) {
      const ssize_t more =
          ::pread(descriptor_, text.data() + have, text.size() - have, static_cast<off_t>(have));
      if (more <= 0) break;
      have += static_cast<std::size_t>(more);
    }
    text.resize(have);
    return text;
  }

 private:
  int descriptor_;
};

std::string driver_dot(graph_ref g, unsigned flags, call_site at) {
  const anonymous_file file{g, at};
  check(driver().cuGraphDebugDotPrint(g.get(), file.path().c_str(), flags), dot_call,
        subject::graph(g.get()), at);
  return file.text();
}

}  // namespace

std::string graph_ref::dot(dot_detail details, call_site at) const {
  CUgraph_st* const handle = require_open(*this, dot_call, at);
  std::string text = driver_dot(*this, static_cast<unsigned>(details), at);
  const detail::dot_attributes attributes = detail::attributes_of_nodes(handle);
  if (attributes.empty() && detail::name_count.load(std::memory_order_relaxed) == 0) return text;
  constexpr unsigned handles = static_cast<unsigned>(dot_detail::handles) |
                               static_cast<unsigned>(dot_detail::event_parameters);
  const std::string statements =
      detail::attribute_statements(text, driver_dot(*this, handles, at), attributes);
  if (const std::size_t end = text.rfind('}'); end != std::string::npos)
    text.insert(end, statements);
  return text;
}

void graph_ref::write_dot(const std::string& path, dot_detail details, call_site at) const {
  detail::write_text_file(path, dot(details, at), "weir::graph_ref::write_dot",
                          subject::graph(handle_), at);
}

}  // namespace weir
