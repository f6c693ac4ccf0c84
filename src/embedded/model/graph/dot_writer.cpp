// SPDX-License-Identifier: Apache-2.0
// model/graph/dot_writer.cpp - writes boxes, arrows and clusters.
#include "embedded/model/graph/dot_writer.hpp"

#include <cinttypes>
#include <cstdarg>
#include <cstdint>
#include <cstdio>

#include "embedded/model/graph/graph.hpp"
#include "embedded/model/graph/memory/graph_block.hpp"

namespace weir::embedded::model {

using namespace abi;

namespace {

[[gnu::format(printf, 2, 3)]] void append(std::string& to, const char* format, ...) {
  char line[256];
  std::va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  to += line;
}

std::uintptr_t number(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

class dot_writer {
 public:
  explicit dot_writer(unsigned flags) : flags_{flags} {}

  [[nodiscard]] std::string draw(const graph& source_graph) {
    text_ = "digraph graph_1 {\n  node [shape=box, fontname=monospace];\n";
    draw_inside(source_graph, "graph_1");
    return text_ + "}\n";
  }

 private:
  void draw_inside(const graph& source_graph, const std::string& name);
  void draw_node(const graph_node& node, const std::string& name);
  void append_params(const node_params& params);

  // CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE includes all other flags.
  [[nodiscard]] bool tells(unsigned flag) const {
    return (flags_ & (flag | CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE)) != 0;
  }

  const unsigned flags_;
  std::string text_;
};

void dot_writer::draw_inside(const graph& source_graph, const std::string& name) {
  const auto node_name = [&](std::size_t mark) { return name + "_node_" + std::to_string(mark); };
  for (std::size_t i = 0; i < source_graph.nodes().size(); ++i) {
    source_graph.nodes()[i]->mark = i;
    draw_node(*source_graph.nodes()[i], node_name(i));
  }
  for (const graph_node* node : source_graph.nodes()) {
    for (const graph_node* after : node->dependents) {
      text_ += "  " + node_name(node->mark) + " -> " + node_name(after->mark) + ";\n";
    }
  }
}

void dot_writer::draw_node(const graph_node& node, const std::string& name) {
  static constexpr const char* kinds[] = {
      "empty",        "host",       "memset",      "memcpy",    "mem ops",  "child graph",
      "event record", "event wait", "conditional", "mem alloc", "mem free", "kernel"};
  static_assert(std::size(kinds) == std::variant_size_v<node_params>);
  text_ += "  " + name + " [label=\"" + kinds[node.params.index()];
  if (tells(CU_GRAPH_DEBUG_DOT_FLAGS_HANDLES))
    append(text_, "\\nhandle %#" PRIxPTR, number(node.handle()));
  append_params(node.params);
  text_ += "\"];\n";
  for (std::size_t i = 0; i < node.subgraphs().size(); ++i) {
    const bool bodies = std::holds_alternative<conditional_params>(node.params);
    const std::string cluster = bodies ? name + "_body_" + std::to_string(i) : name;
    text_.append("  subgraph cluster_")
        .append(cluster)
        .append(" {\n  label=\"")
        .append(cluster)
        .append("\";\n");
    draw_inside(*node.subgraphs()[i], cluster);
    text_ += "  }\n";
  }
}

void dot_writer::append_params(const node_params& params) {
  if (const auto* host = std::get_if<CUDA_HOST_NODE_PARAMS>(&params)) {
    if (!tells(CU_GRAPH_DEBUG_DOT_FLAGS_HOST_NODE_PARAMS)) return;
    append(text_, "\\nfunction %#" PRIxPTR "\\ndata %#" PRIxPTR,
           reinterpret_cast<std::uintptr_t>(host->fn), number(host->userData));
  } else if (const auto* set = std::get_if<memset_params>(&params)) {
    if (!tells(CU_GRAPH_DEBUG_DOT_FLAGS_MEMSET_NODE_PARAMS)) return;
    const CUDA_MEMSET_NODE_PARAMS& p = set->desc;
    append(text_, "\\nto %#llx\\n%zu x %zu of %u bytes\\nvalue %u", p.dst, p.width, p.height,
           p.elementSize, p.value);
  } else if (const auto* copy = std::get_if<copy_params>(&params)) {
    if (!tells(CU_GRAPH_DEBUG_DOT_FLAGS_MEMCPY_NODE_PARAMS)) return;
    const CUDA_MEMCPY3D& p = copy->desc;
    append(text_, "\\n%zu x %zu x %zu bytes", p.WidthInBytes, p.Height, p.Depth);
  } else if (const auto* values = std::get_if<value_params>(&params)) {
    if (!tells(CU_GRAPH_DEBUG_DOT_FLAGS_BATCH_MEM_OP_NODE_PARAMS)) return;
    append(text_, "\\n%zu operations", values->operations.size());
  } else if (const auto* record = std::get_if<record_params>(&params)) {
    if (tells(CU_GRAPH_DEBUG_DOT_FLAGS_EVENT_NODE_PARAMS))
      append(text_, "\\nevent %#" PRIxPTR, number(record->event));
  } else if (const auto* wait = std::get_if<wait_params>(&params)) {
    if (tells(CU_GRAPH_DEBUG_DOT_FLAGS_EVENT_NODE_PARAMS))
      append(text_, "\\nevent %#" PRIxPTR, number(wait->event));
  } else if (const auto* created = std::get_if<alloc_params>(&params)) {
    if (tells(CU_GRAPH_DEBUG_DOT_FLAGS_MEM_ALLOC_NODE_PARAMS))
      append(text_, "\\n%zu bytes at %#llx", created->desc.bytesize, created->desc.dptr);
  } else if (const auto* freed = std::get_if<free_params>(&params)) {
    if (tells(CU_GRAPH_DEBUG_DOT_FLAGS_MEM_FREE_NODE_PARAMS))
      append(text_, "\\nat %#llx", freed->block->address());
  } else if (const auto* conditional = std::get_if<conditional_params>(&params)) {
    if (!tells(CU_GRAPH_DEBUG_DOT_FLAGS_CONDITIONAL_NODE_PARAMS)) return;
    static constexpr const char* types[] = {"if", "while", "switch"};
    append(text_, "\\n%s of %zu\\ncondition %#" PRIx64, types[conditional->type],
           conditional->bodies.size(), conditional->condition);
  }
}

}  // namespace

std::string dot(const graph& source_graph, unsigned flags) {
  return dot_writer{flags}.draw(source_graph);
}

}  // namespace weir::embedded::model
