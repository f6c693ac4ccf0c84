// SPDX-License-Identifier: Apache-2.0
// tools/weir/graph/drawn_graph.cpp - assigns nodes and subgraphs to each other.
#include "graph/drawn_graph.hpp"

#include "failure.hpp"
#include "graph/driver_label.hpp"
#include "graph/node_description.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

namespace weir::tool {
namespace {

constexpr std::size_t max_depth = 100;

// Returns the text of an attribute that weir has added, whose backslashes are doubled.
std::string weir_attribute(const dot_node& node, std::string_view name) {
  std::string text;
  const std::string_view value = value_of(node.attributes, name);
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (value[i] == '\\' && i + 1 < value.size()) ++i;
    text += value[i];
  }
  return text;
}

driver_label label_of(const dot_node& node) {
  const std::string_view label = value_of(node.attributes, "label");
  if (value_of(node.attributes, "shape") == "record") return read_record_label(label);
  return read_plain_label(label.empty() ? std::string_view{node.name} : label);
}

class graph_reader {
 public:
  explicit graph_reader(const dot_graph& text)
      : text_{text}, parts_(text.nodes.size()), owner_(text.subgraphs.size()) {
    for (const dot_node& node : text.nodes) {
      labels_.push_back(label_of(node));
      kinds_.push_back(kind_of(labels_.back(), value_of(node.attributes, "shape")));
      if (kinds_.back() == node_kind::allocation) descriptions_.add_allocation(labels_.back());
    }
    find_parts();
    collect_contents();
  }

  // Returns the graph of a subgraph.
  [[nodiscard]] drawn_graph read(std::size_t subgraph, std::string title) {
    drawn_graph created;
    created.title = std::move(title);
    std::map<std::size_t, std::size_t> index_of_node;
    for (const std::size_t node : nodes_[subgraph]) {
      index_of_node.emplace(node, created.nodes.size());
      created.nodes.push_back(read_node(node));
    }
    for (const std::size_t edge : edges_[subgraph]) {
      const dot_edge& read = text_.edges[edge];
      created.edges.push_back({index_of_node.at(read.source), index_of_node.at(read.target),
                               std::string{value_of(read.attributes, "label")},
                               value_of(read.attributes, "style") == "dashed"});
    }
    std::ranges::sort(created.edges, {}, [](const drawn_edge& e) {
      return std::tuple{e.source, e.target, e.label, e.dashed};
    });
    return created;
  }

 private:
  // Makes each subgraph that the label of a node names a part of that node, unless nodes of its
  // kind have no parts. A node of unknown kind with parts becomes a child graph node.
  void find_parts() {
    std::map<std::string_view, std::size_t> index_of_label;
    for (std::size_t i = 1; i < text_.subgraphs.size(); ++i)
      index_of_label.emplace(value_of(text_.subgraphs[i].attributes, "label"), i);
    index_of_label.erase("");
    for (std::size_t node = 0; node < text_.nodes.size(); ++node) {
      if (kinds_[node] && kinds_[node] != node_kind::child_graph &&
          kinds_[node] != node_kind::conditional)
        continue;
      for (const std::string& word : labels_[node].words) {
        const auto named = index_of_label.find(word);
        if (named != index_of_label.end()) add_part(node, named->second);
      }
      if (!kinds_[node] && !parts_[node].empty()) kinds_[node] = node_kind::child_graph;
    }
  }

  // Does nothing for a subgraph that is a part already or that contains the node.
  void add_part(std::size_t node, std::size_t subgraph) {
    if (owner_[subgraph]) return;
    std::size_t around = text_.nodes[node].subgraph;
    for (std::size_t depth = 0; around != 0; ++depth) {
      if (around == subgraph) return;
      if (depth == max_depth * max_depth) refuse_depth();
      around =
          owner_[around] ? text_.nodes[*owner_[around]].subgraph : text_.subgraphs[around].parent;
    }
    owner_[subgraph] = node;
    parts_[node].push_back(subgraph);
  }

  [[noreturn]] static void refuse_depth() {
    throw failure{fmt::format("cannot draw graphs that nest more than {} deep", max_depth)};
  }

  // Returns the subgraph whose graph contains a node: a part, or 0 for the whole graph.
  [[nodiscard]] std::size_t graph_of(std::size_t node) const {
    std::size_t subgraph = text_.nodes[node].subgraph;
    while (subgraph != 0 && !owner_[subgraph]) subgraph = text_.subgraphs[subgraph].parent;
    return subgraph;
  }

  // Skips edges between the graphs of a node and of its part, which say only that one contains the
  // other.
  void collect_contents() {
    nodes_.resize(text_.subgraphs.size());
    edges_.resize(text_.subgraphs.size());
    for (std::size_t i = 0; i < text_.nodes.size(); ++i) nodes_[graph_of(i)].push_back(i);
    for (std::size_t i = 0; i < text_.edges.size(); ++i) {
      const std::size_t graph = graph_of(text_.edges[i].source);
      if (graph == graph_of(text_.edges[i].target)) edges_[graph].push_back(i);
    }
  }

  [[nodiscard]] drawn_node read_node(std::size_t index) {
    const dot_node& node = text_.nodes[index];
    const driver_label& label = labels_[index];
    drawn_node created;
    created.kind = kinds_[index];
    created.tag = weir_attribute(node, "weir_tag");
    created.site = weir_attribute(node, "weir_call_site");
    created.description = descriptions_.describe(
        created.kind, label, weir_attribute(node, "weir_event"), parts_[index].size());
    if (++depth_ > max_depth) refuse_depth();
    for (std::size_t i = 0; i < parts_[index].size(); ++i)
      created.parts.push_back(read(parts_[index][i], body_title(label, i)));
    --depth_;
    return created;
  }

  const dot_graph& text_;
  std::vector<driver_label> labels_;  // by node
  std::vector<std::optional<node_kind>> kinds_;
  std::vector<std::vector<std::size_t>> parts_;
  std::vector<std::optional<std::size_t>> owner_;  // by subgraph: the node whose part it is
  std::vector<std::vector<std::size_t>> nodes_;
  std::vector<std::vector<std::size_t>> edges_;
  node_descriptions descriptions_;
  std::size_t depth_ = 0;  // of the graph that is being read
};

}  // namespace

std::size_t drawn_graph::count() const noexcept {
  std::size_t total = nodes.size();
  for (const drawn_node& node : nodes) {
    for (const drawn_graph& part : node.parts) total += part.count();
  }
  return total;
}

drawn_graph read_drawn_graph(const dot_graph& text) { return graph_reader{text}.read(0, {}); }

}  // namespace weir::tool
