// SPDX-License-Identifier: Apache-2.0
// tools/weir/graph/drawing.cpp - writes the boxes, frames and edges of a drawing.
#include "graph/drawing.hpp"

#include "graph/drawn_boxes.hpp"
#include "graph/html_label.hpp"

#include <weir/core/to_string.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::tool {
namespace {

// The DOT nodes at which edges to and from an item end: a box, or invisible points in a frame.
struct edge_ends {
  std::string entry;
  std::string exit;
  std::string frame;  // empty for a box
};

// The boxes without incoming edges, and those without outgoing edges.
struct boundary_boxes {
  std::vector<edge_ends> first;
  std::vector<edge_ends> last;
};

class drawing_writer {
 public:
  drawing_writer(const drawing_options& options, bool fold) noexcept
      : options_{options}, fold_{fold} {}

  [[nodiscard]] std::string draw(const drawn_graph& graph) {
    const bool right = options_.direction == drawing_direction::right;
    text_ = "digraph weir {\n";
    add("rankdir={}; compound=true; ranksep=0.35; nodesep=0.25; fontname=\"sans-serif\"; "
        "fontsize=11;",
        right ? "LR" : "TB");
    add(R"(node [shape=box, style="rounded,filled", color="#333333", fontname="sans-serif", fontsize=11, margin="0.12,0.05", height=0.3];)");
    add(R"(edge [color="#333333", arrowsize=0.7, fontname="sans-serif", fontsize=9];)");
    draw_contents(graph, "n");
    if (options_.legend && !kinds_.empty()) add_legend();
    return text_ + "}\n";
  }

 private:
  template <class... Values>
  void add(fmt::format_string<Values...> format, Values&&... values) {
    text_.append(2 * depth_, ' ');
    fmt::format_to(std::back_inserter(text_), format, std::forward<Values>(values)...);
    text_ += '\n';
  }

  // Draws the boxes and edges of a graph.
  boundary_boxes draw_contents(const drawn_graph& graph, const std::string& name) {
    const std::vector<drawn_box> boxes = boxes_of(graph, fold_);
    std::vector<std::size_t> box_of(graph.nodes.size());
    std::vector<edge_ends> ends;
    for (std::size_t i = 0; i < boxes.size(); ++i) {
      for (const std::size_t index : boxes[i].nodes) box_of[index] = i;
      ends.push_back(draw_box(graph, boxes[i], fmt::format("{}{}", name, boxes[i].nodes.front())));
    }
    std::vector<bool> has_incoming(boxes.size());
    std::vector<bool> has_outgoing(boxes.size());
    for (const drawn_edge& edge : graph.edges) {
      const std::size_t source = box_of[edge.source];
      const std::size_t target = box_of[edge.target];
      if (source == target && boxes[source].nodes.size() > 1) continue;
      has_outgoing[source] = has_incoming[target] = true;
      add("{} -> {}{};", ends[source].exit, ends[target].entry,
          edge_attributes(edge, ends[source], ends[target]));
    }
    boundary_boxes outer;
    for (std::size_t i = 0; i < boxes.size(); ++i) {
      if (!has_incoming[i]) outer.first.push_back(ends[i]);
      if (!has_outgoing[i]) outer.last.push_back(ends[i]);
    }
    return outer;
  }

  static std::string edge_attributes(const drawn_edge& edge, const edge_ends& source,
                                     const edge_ends& target) {
    std::string all;
    const auto add = [&](const std::string& more) { all += (all.empty() ? " [" : ", ") + more; };
    if (!source.frame.empty()) add("ltail=" + source.frame);
    if (!target.frame.empty()) add("lhead=" + target.frame);
    if (!edge.label.empty()) add(fmt::format("label=<{}>", html_text(edge.label)));
    if (edge.dashed) add("style=dashed");
    return all.empty() ? all : all + "]";
  }

  edge_ends draw_box(const drawn_graph& graph, const drawn_box& box, const std::string& name) {
    const drawn_node& first = graph.nodes[box.nodes.front()];
    if (!first.parts.empty()) return draw_frame(first, name);
    for (const std::size_t index : box.nodes) note_kind(graph.nodes[index].kind);
    const bool folded = box.nodes.size() > 1;
    const kind_style style = box.period > 1 ? kind_style{white} : style_of(first.kind);
    if (first.kind == node_kind::empty && first.tag.empty() && !folded) {
      add("{} [shape=circle, fixedsize=true, width=0.16, label=\"\", fillcolor=\"{}\"];", name,
          style.fill);
    } else {
      const std::string text =
          style.text == black ? "" : fmt::format(", fontcolor=\"{}\"", style.text);
      add("{} [label=<{}>, fillcolor=\"{}\"{}{}];", name,
          folded ? folded_label(graph, box) : html_label(first.tag, text_of(first), site(first)),
          style.fill, text, folded ? ", peripheries=2" : "");
    }
    return {name, name, {}};
  }

  // Draws a node with parts as a frame. Edges to and from the node end at the frame.
  edge_ends draw_frame(const drawn_node& node, const std::string& name) {
    edge_ends ends{name + "_in", name + "_out", "cluster_" + name};
    const bool one = node.parts.size() == 1;  // a single part needs no frame of its own
    const std::string& title = node.parts.front().title;
    open_frame(ends.frame,
               html_label(node.tag, one && !title.empty() ? title : text_of(node), site(node)),
               node.kind == node_kind::conditional);
    add("{}, {} [shape=point, style=invis, width=0, height=0, margin=0];", ends.entry, ends.exit);
    for (std::size_t i = 0; i < node.parts.size(); ++i) {
      const drawn_graph& part = node.parts[i];
      const std::string inside = one ? name + "_" : fmt::format("{}_{}_", name, i);
      if (!one) open_frame("cluster_" + inside, html_text(part.title), false);
      const edge_ends placeholder{inside, inside, {}};
      boundary_boxes outer{{placeholder}, {placeholder}};
      if (part.nodes.empty()) {
        add("{} [shape=plaintext, style=\"\", label=\"nothing\"];", inside);
      } else {
        outer = draw_contents(part, inside);
      }
      if (!one) close_frame();
      for (const edge_ends& root : outer.first)
        add("{} -> {} [style=invis];", ends.entry, root.entry);
      for (const edge_ends& leaf : outer.last) add("{} -> {} [style=invis];", leaf.exit, ends.exit);
    }
    close_frame();
    return ends;
  }

  void open_frame(const std::string& name, const std::string& label, bool dashed) {
    add("subgraph {} {{", name);
    ++depth_;
    const std::string_view fill = depth_ % 2 == 0 ? grey : white;
    add("label=<{}>; style=\"rounded,filled{}\"; fillcolor=\"{}\"; color=\"#777777\"; margin=8;",
        label, dashed ? ",dashed" : "", fill);
  }
  void close_frame() {
    --depth_;
    add("}}");
  }

  static std::string name_of(std::optional<node_kind> kind) {
    return kind ? to_string(*kind) : "node";
  }
  void note_kind(std::optional<node_kind> kind) {
    if (kind) kinds_.insert(*kind);
  }

  static std::string text_of(const drawn_node& node) {
    return node.description.empty() ? name_of(node.kind) : node.description;
  }
  std::string_view site(const drawn_node& node) const {
    return options_.call_sites ? node.site : std::string_view{};
  }

  // Returns the description of the nodes at this offset in the pattern, or only their kind if the
  // descriptions differ.
  static std::string text_of(const drawn_graph& graph, const drawn_box& box, std::size_t offset) {
    const drawn_node& first = graph.nodes[box.nodes[offset]];
    for (std::size_t i = offset; i < box.nodes.size(); i += box.period) {
      if (graph.nodes[box.nodes[i]].description != first.description) return name_of(first.kind);
    }
    return text_of(first);
  }

  // Returns the repetition count, the descriptions and the call sites. If the pattern has several
  // kinds of nodes, each line has the colour of its kind.
  std::string folded_label(const drawn_graph& graph, const drawn_box& box) const {
    const std::string repetition_text = fmt::format("{} times", box.repetitions());
    const std::string sites_text = sites(graph, box);
    if (box.period == 1) return html_label(repetition_text, text_of(graph, box, 0), sites_text);
    std::string rows = fmt::format("<TR><TD><B>{}</B></TD></TR>", repetition_text);
    for (std::size_t i = 0; i < box.period; ++i) {
      const std::string what = html_text(text_of(graph, box, i));
      rows += fmt::format("<TR>{}</TR>", html_cell(graph.nodes[box.nodes[i]].kind, what));
    }
    if (!sites_text.empty()) rows += fmt::format("<TR><TD>{}</TD></TR>", small_html(sites_text));
    return html_table(rows);
  }

  // Returns a text such as "main.cpp:12, main.cpp:13". If there are many, lists the first and the
  // last.
  std::string sites(const drawn_graph& graph, const drawn_box& box) const {
    std::vector<std::string_view> each;
    for (const std::size_t index : box.nodes) {
      const std::string_view one = site(graph.nodes[index]);
      if (!one.empty() && std::ranges::find(each, one) == each.end()) each.push_back(one);
    }
    constexpr std::size_t few = 2;
    if (each.size() > few) return fmt::format("{} ... {}", each.front(), each.back());
    return fmt::format("{}", fmt::join(each, ", "));
  }

  void add_legend() {
    std::string cells;
    for (const node_kind kind : kinds_) cells += html_cell(kind, name_of(kind));
    add("labelloc=b; fontsize=9; label=<{}>;", html_table("<TR>" + cells + "</TR>"));
  }

  const drawing_options options_;
  const bool fold_;
  std::size_t depth_ = 1;
  std::set<node_kind> kinds_;
  std::string text_;
};

}  // namespace

std::string drawing_of(const drawn_graph& graph, const drawing_options& options) {
  return drawing_writer{options, graph.count() > options.fold_above}.draw(graph);
}

}  // namespace weir::tool
