// api/graph/drawing/graph_drawing.cpp - a graph in the DOT language.
#include <weir/graph/graph_drawing.hpp>

#include "api/core/check.hpp"
#include "api/graph/drawing/graph_drawing_folds.hpp"
#include "api/graph/drawing/graph_drawing_labels.hpp"
#include "api/graph/drawing/graph_drawing_nodes.hpp"
#include "api/graph/drawing/graph_drawing_text.hpp"
#include "api/graph/graph_use.hpp"
#include "api/graph/node_calls.hpp"
#include "api/core/whole_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

namespace weir {
namespace detail {
namespace {

// Where edges to and from something drawn end: a box, or an invisible point in a frame.
struct drawn_ends {
  std::string in;
  std::string out;
  std::string frame;  // none for a box
};

// The boxes that come after none, and those that none comes after.
struct outer_boxes {
  std::vector<drawn_ends> first;
  std::vector<drawn_ends> last;
};

class drawing {
 public:
  drawing(const drawing_options& options, bool fold) noexcept : options_{options}, fold_{fold} {}

  [[nodiscard]] std::string draw(const drawn_graph& graph) {
    const bool right = options_.direction == drawing_direction::right;
    text_ = "digraph weir {\n";
    add("rankdir={}; compound=true; ranksep=0.35; nodesep=0.25; fontname=\"sans-serif\"; fontsize=11;",
        right ? "LR" : "TB");
    add(R"(node [shape=box, style="rounded,filled", color="#333333", fontname="sans-serif", fontsize=11, margin="0.12,0.05", height=0.3];)");
    add(R"(edge [color="#333333", arrowsize=0.7, fontname="sans-serif", fontsize=9];)");
    draw_inside(graph, "n");
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

  // Its boxes and edges.
  outer_boxes draw_inside(const drawn_graph& graph, const std::string& name) {
    const std::vector<drawn_box> boxes = boxes_of(graph, fold_);
    std::vector<std::size_t> box_of(graph.nodes.size());
    std::vector<drawn_ends> ends;
    for (std::size_t i = 0; i < boxes.size(); ++i) {
      for (const std::size_t place : boxes[i].nodes) box_of[place] = i;
      ends.push_back(draw_box(graph, boxes[i], fmt::format("{}{}", name, boxes[i].nodes.front())));
    }
    std::vector<bool> entered(boxes.size());
    std::vector<bool> left(boxes.size());
    for (const drawn_edge& edge : graph.edges) {
      const std::size_t from = box_of[edge.from];
      const std::size_t to = box_of[edge.to];
      if (from == to && boxes[from].nodes.size() > 1) continue;
      left[from] = entered[to] = true;
      add("{} -> {}{};", ends[from].out, ends[to].in, edge_attributes(edge.data, ends[from], ends[to]));
    }
    outer_boxes outer;
    for (std::size_t i = 0; i < boxes.size(); ++i) {
      if (!entered[i]) outer.first.push_back(ends[i]);
      if (!left[i]) outer.last.push_back(ends[i]);
    }
    return outer;
  }

  static std::string edge_attributes(edge_data data, const drawn_ends& from, const drawn_ends& to) {
    std::string all;
    const auto add = [&](const std::string& more) { all += (all.empty() ? " [" : ", ") + more; };
    if (!from.frame.empty()) add("ltail=" + from.frame);
    if (!to.frame.empty()) add("lhead=" + to.frame);
    if (data.from_port != 0 || data.to_port != 0)
      add(fmt::format("label=\"port {} to {}\"", data.from_port, data.to_port));
    if (data.type != 0) add("style=dashed");
    return all.empty() ? all : all + "]";
  }

  drawn_ends draw_box(const drawn_graph& graph, const drawn_box& box, const std::string& name) {
    const drawn_node& first = graph.nodes[box.nodes.front()];
    if (!first.parts.empty()) return draw_frame(first, name);
    for (const std::size_t place : box.nodes) kinds_.insert(graph.nodes[place].kind);
    const bool folded = box.nodes.size() > 1;
    const kind_style style = box.period > 1 ? kind_style{white} : style_of(first.kind);
    if (first.kind == node_kind::empty && first.tag.empty() && !folded) {
      add("{} [shape=circle, fixedsize=true, width=0.16, label=\"\", fillcolor=\"{}\"];", name, style.fill);
    } else {
      const std::string text = style.text == black ? "" : fmt::format(", fontcolor=\"{}\"", style.text);
      add("{} [label=<{}>, fillcolor=\"{}\"{}{}];", name,
          folded ? folded_label(graph, box) : label(first.tag, words(first), site(first)), style.fill, text,
          folded ? ", peripheries=2" : "");
    }
    return {name, name, {}};
  }

  // A node with parts: what leads to it and from it ends at its frame.
  drawn_ends draw_frame(const drawn_node& node, const std::string& name) {
    drawn_ends ends{name + "_in", name + "_out", "cluster_" + name};
    const bool one = node.parts.size() == 1;  // needs no frame of its own
    const std::string& title = node.parts.front().title;
    open_frame(ends.frame, label(node.tag, one && !title.empty() ? title : words(node), site(node)),
               node.kind == node_kind::conditional);
    add("{}, {} [shape=point, style=invis, width=0, height=0, margin=0];", ends.in, ends.out);
    for (std::size_t i = 0; i < node.parts.size(); ++i) {
      const drawn_graph& part = node.parts[i];
      const std::string inside = one ? name + "_" : fmt::format("{}_{}_", name, i);
      if (!one) open_frame("cluster_" + inside, html_of(part.title), false);
      const drawn_ends nothing{inside, inside, {}};
      outer_boxes outer{{nothing}, {nothing}};
      if (part.nodes.empty()) {
        add("{} [shape=plaintext, style=\"\", label=\"nothing\"];", inside);
      } else {
        outer = draw_inside(part, inside);
      }
      if (!one) close_frame();
      for (const drawn_ends& root : outer.first) add("{} -> {} [style=invis];", ends.in, root.in);
      for (const drawn_ends& leaf : outer.last) add("{} -> {} [style=invis];", leaf.out, ends.out);
    }
    close_frame();
    return ends;
  }

  void open_frame(const std::string& name, const std::string& label, bool dashed) {
    add("subgraph {} {{", name);
    ++depth_;
    const std::string_view fill = depth_ % 2 == 0 ? grey : white;
    add("label=<{}>; style=\"rounded,filled{}\"; fillcolor=\"{}\"; color=\"#777777\"; margin=8;", label,
        dashed ? ",dashed" : "", fill);
  }
  void close_frame() {
    --depth_;
    add("}}");
  }

  static std::string words(const drawn_node& node) { return node.does.empty() ? name_of(node.kind) : node.does; }
  std::string_view site(const drawn_node& node) const { return options_.call_sites ? node.site : std::string_view{}; }

  // What the nodes of that place in the pattern do; only their kind where they do different things.
  static std::string words(const drawn_graph& graph, const drawn_box& box, std::size_t in_pattern) {
    const drawn_node& first = graph.nodes[box.nodes[in_pattern]];
    for (std::size_t i = in_pattern; i < box.nodes.size(); i += box.period) {
      if (graph.nodes[box.nodes[i]].does != first.does) return name_of(first.kind);
    }
    return words(first);
  }

  // How often, what, and from which lines. Of several kinds each line has its colour.
  std::string folded_label(const drawn_graph& graph, const drawn_box& box) const {
    const std::string often = fmt::format("{} times", box.times());
    const std::string where = sites(graph, box);
    if (box.period == 1) return label(often, words(graph, box, 0), where);
    std::string rows = fmt::format("<TR><TD><B>{}</B></TD></TR>", often);
    for (std::size_t i = 0; i < box.period; ++i) {
      const std::string what = html_of(words(graph, box, i));
      rows += fmt::format("<TR>{}</TR>", cell(graph.nodes[box.nodes[i]].kind, what));
    }
    if (!where.empty()) rows += fmt::format("<TR><TD>{}</TD></TR>", small(where));
    return table(rows);
  }

  // "main.cpp:12, main.cpp:13"; of many the first and the last.
  std::string sites(const drawn_graph& graph, const drawn_box& box) const {
    std::vector<std::string_view> each;
    for (const std::size_t place : box.nodes) {
      const std::string_view one = site(graph.nodes[place]);
      if (!one.empty() && std::ranges::find(each, one) == each.end()) each.push_back(one);
    }
    constexpr std::size_t few = 2;
    if (each.size() > few) return fmt::format("{} ... {}", each.front(), each.back());
    return fmt::format("{}", fmt::join(each, ", "));
  }

  void add_legend() {
    std::string cells;
    for (const node_kind kind : kinds_) cells += cell(kind, name_of(kind));
    add("labelloc=b; fontsize=9; label=<{}>;", table("<TR>" + cells + "</TR>"));
  }

  const drawing_options options_;
  const bool fold_;
  std::size_t depth_ = 1;
  std::set<node_kind> kinds_;
  std::string text_;
};

}  // namespace
}  // namespace detail

std::string drawing_of(graph_ref graph, const drawing_options& options, call_site at) {
  detail::usable(graph, "weir::drawing_of", at);
  const detail::drawn_graph all = detail::drawn(graph, at);
  return detail::drawing{options, all.count() > options.fold_above}.draw(all);
}

void write_drawing(graph_ref graph, const std::string& path, const drawing_options& options, call_site at) {
  detail::write_text(path, drawing_of(graph, options, at), "weir::write_drawing", detail::subject::graph(graph.get()),
                     at);
}

}  // namespace weir
