// SPDX-License-Identifier: Apache-2.0
// model/graph/dot_writer.cpp - writes a cluster for each graph, in the form of a GPU's driver.
#include "embedded/model/graph/dot_writer.hpp"

#include <cinttypes>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <utility>
#include <variant>
#include <vector>

#include "embedded/model/graph/graph.hpp"
#include "embedded/model/graph/memory/graph_block.hpp"
#include "embedded/model/kernel/kernel_work.hpp"
#include "embedded/model/memory/address_map.hpp"
#include "embedded/model/memory/allocation.hpp"

namespace weir::embedded::model {

using namespace abi;

namespace {

[[gnu::format(printf, 1, 2)]] std::string text_of(const char* format, ...) {
  char text[512];
  std::va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return text;
}

std::string address_text(std::uintptr_t address) { return text_of("0x%016" PRIXPTR, address); }
std::string address_text(const void* pointer) {
  return address_text(reinterpret_cast<std::uintptr_t>(pointer));
}

// The parts of a node's label.
struct node_label {
  const char* style = "solid";
  const char* shape = "rectangle";
  const char* title = "";              // the kind
  bool shows_title = true;             // false: without fields, the shape alone shows the kind
  std::vector<std::string> details{};  // lines that every label has
  std::vector<std::pair<std::string, std::string>> fields{};  // names and values that flags select
};

char memory_letter(CUmemorytype type, CUdeviceptr address) noexcept {
  if (type == CU_MEMORYTYPE_ARRAY) return 'A';
  if (type == CU_MEMORYTYPE_DEVICE) return 'D';
  const allocation* found = address_map::find(address);
  if (found == nullptr) found = address_map::find_graph_memory(address, 1);
  return found == nullptr || found->on_host ? 'H' : 'D';
}

CUdeviceptr address_of(CUmemorytype type, const void* host, CUdeviceptr device) noexcept {
  return type == CU_MEMORYTYPE_HOST ? reinterpret_cast<CUdeviceptr>(host) : device;
}

const char* operation_text(CUstreamBatchMemOpType operation) noexcept {
  switch (operation) {
    case CU_STREAM_MEM_OP_WAIT_VALUE_32: return "WAIT_VALUE_32";
    case CU_STREAM_MEM_OP_WAIT_VALUE_64: return "WAIT_VALUE_64";
    case CU_STREAM_MEM_OP_WRITE_VALUE_32: return "WRITE_VALUE_32";
    case CU_STREAM_MEM_OP_WRITE_VALUE_64: return "WRITE_VALUE_64";
    default: return "BARRIER";
  }
}

std::string value_text(const CUstreamBatchMemOpParams& step) {
  static constexpr const char* comparisons[] = {"GEQ ", "EQ ", "AND ", "NOR "};
  const bool wide = step.operation == CU_STREAM_MEM_OP_WAIT_VALUE_64 ||
                    step.operation == CU_STREAM_MEM_OP_WRITE_VALUE_64;
  const bool waits = step.operation == CU_STREAM_MEM_OP_WAIT_VALUE_32 ||
                     step.operation == CU_STREAM_MEM_OP_WAIT_VALUE_64;
  const std::uint64_t value = wide ? step.waitValue.value64 : step.waitValue.value;
  return text_of("%s%" PRIu64, waits ? comparisons[step.waitValue.flags & 3U] : "", value);
}

class dot_writer {
 public:
  explicit dot_writer(unsigned flags) : flags_{flags} {}

  [[nodiscard]] std::string draw(const graph& source_graph) {
    text_ = "digraph dot {\n";
    graphs_.push_back(&source_graph);
    for (std::size_t i = 0; i < graphs_.size(); ++i) draw_graph(*graphs_[i], i + 1);
    return text_ + "}\n";
  }

 private:
  void draw_graph(const graph& source_graph, std::size_t number);
  void draw_node(const graph_node& node, const std::string& name, std::size_t id);
  void draw_edge(const graph_node& from, const graph_node& to, const std::string& graph_name);

  // Returns the name of a graph that is drawn later.
  [[nodiscard]] std::string name_of(const graph& subgraph) {
    graphs_.push_back(&subgraph);
    return "graph_" + std::to_string(graphs_.size());
  }

  // CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE includes all other flags.
  [[nodiscard]] bool shows(unsigned flag) const {
    return (flags_ & (flag | CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE)) != 0;
  }

  // Return the label of a node with these parameters.
  node_label label_of(const empty_params&) const { return {.title = "EMPTY"}; }
  node_label label_of(const CUDA_HOST_NODE_PARAMS& params) const;
  node_label label_of(const memset_params& params) const;
  node_label label_of(const copy_params& params) const;
  node_label label_of(const value_params& params) const;
  node_label label_of(const child_params& params);
  node_label label_of(const record_params& params) const;
  node_label label_of(const wait_params& params) const;
  node_label label_of(const conditional_params& params);
  node_label label_of(const alloc_params& params) const;
  node_label label_of(const free_params& params) const;
  node_label label_of(const kernel_params& params) const;

  const unsigned flags_;
  std::vector<const graph*> graphs_;  // in the order of their numbers
  std::string text_;
};

node_label dot_writer::label_of(const CUDA_HOST_NODE_PARAMS& params) const {
  node_label label{.title = "HOST"};
  if (shows(CU_GRAPH_DEBUG_DOT_FLAGS_HOST_NODE_PARAMS)) {
    label.fields = {{"fn", address_text(reinterpret_cast<std::uintptr_t>(params.fn))},
                    {"userData", address_text(params.userData)}};
  }
  return label;
}

node_label dot_writer::label_of(const memset_params& params) const {
  const CUDA_MEMSET_NODE_PARAMS& p = params.desc;
  node_label label{.shape = "invtrapezium", .title = "MEMSET"};
  label.details = {text_of("(%u,%zu)", p.value, p.width * p.elementSize * p.height)};
  if (shows(CU_GRAPH_DEBUG_DOT_FLAGS_MEMSET_NODE_PARAMS)) {
    label.fields = {
        {"dptr", address_text(p.dst)},      {"pitch", std::to_string(p.pitch)},
        {"value", std::to_string(p.value)}, {"elementSize", std::to_string(p.elementSize)},
        {"width", std::to_string(p.width)}, {"height", std::to_string(p.height)}};
  }
  return label;
}

node_label dot_writer::label_of(const copy_params& params) const {
  const CUDA_MEMCPY3D& p = params.desc;
  const CUdeviceptr from = address_of(p.srcMemoryType, p.srcHost, p.srcDevice);
  const CUdeviceptr to = address_of(p.dstMemoryType, p.dstHost, p.dstDevice);
  node_label label{.shape = "trapezium", .title = "MEMCPY"};
  label.details = {text_of("(%cto%c,%zu)", memory_letter(p.srcMemoryType, from),
                           memory_letter(p.dstMemoryType, to),
                           p.WidthInBytes * p.Height * p.Depth)};
  if (shows(CU_GRAPH_DEBUG_DOT_FLAGS_MEMCPY_NODE_PARAMS)) {
    label.fields = {{"srcPtr", address_text(from)},
                    {"dstPtr", address_text(to)},
                    {"Width", std::to_string(p.WidthInBytes)},
                    {"Height", std::to_string(p.Height)},
                    {"Depth", std::to_string(p.Depth)}};
  }
  return label;
}

node_label dot_writer::label_of(const value_params& params) const {
  node_label label{.title = "BATCH_MEM_OP"};
  if (!shows(CU_GRAPH_DEBUG_DOT_FLAGS_BATCH_MEM_OP_NODE_PARAMS)) return label;
  for (const CUstreamBatchMemOpParams& step : params.operations)
    label.fields.emplace_back(operation_text(step.operation), value_text(step));
  return label;
}

node_label dot_writer::label_of(const child_params& params) {
  node_label label{.title = "GRAPH", .shows_title = false};
  label.details = {name_of(*params.subgraph)};
  return label;
}

node_label dot_writer::label_of(const record_params& params) const {
  node_label label{.title = "EVENT_RECORD"};
  if (shows(CU_GRAPH_DEBUG_DOT_FLAGS_EVENT_NODE_PARAMS))
    label.fields = {{"event", address_text(params.event)}};
  return label;
}

node_label dot_writer::label_of(const wait_params& params) const {
  node_label label{.title = "WAIT_EVENT"};
  if (shows(CU_GRAPH_DEBUG_DOT_FLAGS_EVENT_NODE_PARAMS))
    label.fields = {{"event", address_text(params.event)}};
  return label;
}

node_label dot_writer::label_of(const conditional_params& params) {
  static constexpr const char* types[] = {"IF", "WHILE", "SWITCH"};
  node_label label{.title = "CONDITIONAL"};
  label.details = {types[params.type]};
  for (const graph* body : params.bodies) label.details.push_back(name_of(*body));
  if (shows(CU_GRAPH_DEBUG_DOT_FLAGS_CONDITIONAL_NODE_PARAMS))
    label.fields = {{"handle", address_text(static_cast<std::uintptr_t>(params.condition))}};
  return label;
}

node_label dot_writer::label_of(const alloc_params& params) const {
  node_label label{.title = "MEM_ALLOC"};
  if (shows(CU_GRAPH_DEBUG_DOT_FLAGS_MEM_ALLOC_NODE_PARAMS)) {
    label.fields = {{"dptr", address_text(params.desc.dptr)},
                    {"bytesize", std::to_string(params.desc.bytesize)}};
  }
  return label;
}

node_label dot_writer::label_of(const free_params& params) const {
  node_label label{.title = "MEM_FREE"};
  if (shows(CU_GRAPH_DEBUG_DOT_FLAGS_MEM_FREE_NODE_PARAMS))
    label.fields = {{"dptr", address_text(params.block->address())}};
  return label;
}

node_label dot_writer::label_of(const kernel_params& params) const {
  const auto extent = [](const weir_extent& e) {
    return e.y * e.z == 1 ? std::to_string(e.x) : text_of("\\{%u,%u,%u\\}", e.x, e.y, e.z);
  };
  const launch_shape& shape = params.desc->shape();
  node_label label{.style = "bold", .shape = "octagon", .title = "KERNEL", .shows_title = false};
  label.details = {params.desc->kernel().name + std::string{"\\<\\<\\<"} + extent(shape.grid) +
                   ',' + extent(shape.block) + ',' + std::to_string(shape.shared) + "\\>\\>\\>"};
  if (shows(CU_GRAPH_DEBUG_DOT_FLAGS_HANDLES)) {
    label.fields = {{"func handle", params.function != nullptr ? address_text(params.function)
                                                               : address_text(params.kernel)}};
  }
  if (shows(CU_GRAPH_DEBUG_DOT_FLAGS_KERNEL_NODE_ATTRIBUTES)) {
    label.fields.emplace_back("cooperative", shape.cooperative ? "1" : "0");
    label.fields.emplace_back("priority", std::to_string(params.desc->priority()));
  }
  return label;
}

// Returns a label in Graphviz's record syntax.
std::string record_text(const node_label& label, std::size_t id) {
  std::string text = std::string{"{\n"} + label.title + "\n| {ID | " + std::to_string(id);
  for (const std::string& detail : label.details) text += " | " + detail;
  std::string names;
  std::string values;
  for (const auto& [name, value] : label.fields) {
    names += (names.empty() ? "" : " | ") + name;
    values += (values.empty() ? "" : " | ") + value;
  }
  return text + "}\n| {{" + names + "} | {" + values + "}}\n}";
}

std::string plain_text(const node_label& label, std::size_t id) {
  std::string text = std::to_string(id);
  if (label.shows_title) text += std::string{"\n"} + label.title;
  for (const std::string& detail : label.details) text += "\n" + detail;
  return text + "\n";
}

void dot_writer::draw_graph(const graph& source_graph, std::size_t number) {
  const std::string name = "graph_" + std::to_string(number);
  text_ += "subgraph cluster_" + std::to_string(number) + " {\nlabel=\"" + name +
           "\" graph[style=\"dashed\"];\n";
  for (std::size_t i = 0; i < source_graph.nodes().size(); ++i) {
    source_graph.nodes()[i]->mark = i;
    draw_node(*source_graph.nodes()[i], name, i);
  }
  for (const graph_node* node : source_graph.nodes()) {
    for (const graph_node* after : node->dependents) draw_edge(*node, *after, name);
  }
  text_ += "}\n";
}

void dot_writer::draw_node(const graph_node& node, const std::string& graph_name, std::size_t id) {
  node_label label = std::visit([&](const auto& params) { return label_of(params); }, node.params);
  if (shows(CU_GRAPH_DEBUG_DOT_FLAGS_HANDLES))
    label.fields.insert(label.fields.begin(), {"node handle", address_text(node.handle())});
  const bool record = !label.fields.empty();
  text_ += "\"" + graph_name + "_node_" + std::to_string(id) + "\"[style=\"" + label.style +
           "\" shape=\"" + (record ? "record" : label.shape) + "\" label=\"" +
           (record ? record_text(label, id) : plain_text(label, id)) + "\"];\n";
}

void dot_writer::draw_edge(const graph_node& from, const graph_node& to,
                           const std::string& graph_name) {
  const CUgraphEdgeData data = graph::edge_data_of(from, to);
  const std::string prefix = "\"" + graph_name + "_node_";
  text_ += prefix + std::to_string(from.mark) + "\" -> " + prefix + std::to_string(to.mark) +
           "\" [headlabel=" + std::to_string(data.to_port);
  if (data.from_port != 0) text_ += " taillabel=" + std::to_string(data.from_port);
  text_ += data.type != 0 ? " style=\"dashed\"];\n" : "];\n";
}

}  // namespace

std::string dot(const graph& source_graph, unsigned flags) {
  return dot_writer{flags}.draw(source_graph);
}

}  // namespace weir::embedded::model
