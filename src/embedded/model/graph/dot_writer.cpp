// SPDX-License-Identifier: Apache-2.0
// model/graph/dot_writer.cpp - writes a cluster for each graph, in the form of a GPU's driver.
#include "embedded/model/graph/dot_writer.hpp"

#include <algorithm>
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
#include "embedded/model/stream/box_copy.hpp"

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

// Returns the kind of memory that a GPU's driver shows for an address. The driver knows the memory
// of an allocation node even before a launch has allocated it.
const char* memory_text(CUdeviceptr address) noexcept {
  const allocation* found = address_map::find(address);
  if (found == nullptr) found = address_map::find_graph_memory(address, 1);
  if (found == nullptr) return "HOST PAGEABLE";
  if (found->kind == memory_kind::managed) return "MANAGED";
  return found->on_host ? "HOST PINNED" : "DEVICE";
}

// Returns the kind of memory of one side of a copy. Its first letter is the one in "(HtoD,400)".
const char* type_text(const box_operand& operand) noexcept {
  switch (operand.type) {
    case CU_MEMORYTYPE_HOST: return "HOST";
    case CU_MEMORYTYPE_DEVICE: return "DEVICE";
    case CU_MEMORYTYPE_ARRAY: return "ARRAY";
    default: return "UNIFIED";
  }
}

// Returns the ten fields of one side of a copy: the values of the node's CUDA_MEMCPY3D. The first
// field also has, in parentheses, the kind of memory found at the address.
std::string operand_fields(const box_operand& operand) {
  const CUdeviceptr address = operand.type == CU_MEMORYTYPE_HOST
                                  ? reinterpret_cast<CUdeviceptr>(operand.host)
                                  : operand.device;
  return text_of("%s (%s) | ", type_text(operand),
                 operand.type == CU_MEMORYTYPE_ARRAY ? "DEVICE" : memory_text(address)) +
         address_text(operand.array) + " | " + address_text(operand.host) + " | " +
         address_text(operand.device) +
         text_of(" | %zu | %zu | %zu | %zu | %zu | %zu", operand.x, operand.y, operand.z,
                 operand.pitch, operand.rows, operand.level);
}

// The driver writes a value of 64 bits in decimal digits, although 0x precedes them.
std::string operation_fields(const CUstreamBatchMemOpParams& step) {
  static constexpr const char* comparisons[] = {"GEQ", "EQ", "AND", "NOR"};
  const auto fields = [&](const char* name, bool wide, const char* flags) {
    const auto& p = step.waitValue;
    const std::string value =
        wide ? text_of("0x%016" PRIu64, p.value64) : text_of("0x%08" PRIx32, p.value);
    return std::string{name} + " | " + address_text(p.address) + " | " + value + " | " + flags;
  };
  const char* const comparison = comparisons[step.waitValue.flags & 3U];
  switch (step.operation) {
    case CU_STREAM_MEM_OP_WAIT_VALUE_32: return fields("WAIT_VALUE_32", false, comparison);
    case CU_STREAM_MEM_OP_WAIT_VALUE_64: return fields("WAIT_VALUE_64", true, comparison);
    case CU_STREAM_MEM_OP_WRITE_VALUE_32: return fields("WRITE_VALUE_32", false, "DEFAULT");
    case CU_STREAM_MEM_OP_WRITE_VALUE_64: return fields("WRITE_VALUE_64", true, "DEFAULT");
    default: return fields("BARRIER", false, "DEFAULT");
  }
}

std::string launch_text(const launch_shape& shape) {
  const auto extent = [](const weir_extent& e) {
    if (e.z != 1) return text_of("\\{%u,%u,%u\\}", e.x, e.y, e.z);
    return e.y != 1 ? text_of("\\{%u,%u\\}", e.x, e.y) : std::to_string(e.x);
  };
  return "\\<\\<\\<" + extent(shape.grid) + ',' + extent(shape.block) + ',' +
         std::to_string(shape.shared) + "\\>\\>\\>";
}

// Returns the row of a kernel's access policy window.
std::string window_row(const kernel_params& params) {
  static constexpr char properties[] = {'N', 'S', 'P'};
  CUaccessPolicyWindow window{};
  if (const auto set = params.inert_attributes.find(CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW);
      set != params.inert_attributes.end())
    window = set->second.accessPolicyWindow;
  return "| {accessPolicyWindow | {base_ptr | num_bytes | hitRatio | hitProp | missProp} | {" +
         address_text(window.base_ptr) +
         text_of(" | %zu | %f | %c | %c}}\n", window.num_bytes, double{window.hitRatio},
                 properties[window.hitProp % 3], properties[window.missProp % 3]);
}

class dot_writer {
 public:
  explicit dot_writer(unsigned flags) : flags_{flags} {}

  [[nodiscard]] std::string draw(const graph& source_graph) {
    text_ = "digraph dot {\n";
    graphs_.push_back(&source_graph);
    for (std::size_t i = 0; i < graphs_.size(); ++i) draw_graph(*graphs_[i]);
    return text_ + "}\n";
  }

 private:
  void draw_graph(const graph& source_graph);
  void draw_edges(const graph_node& node, const std::string& prefix);

  // Returns the name of a subgraph, and adds it to the graphs that draw() draws later.
  [[nodiscard]] std::string name_of(const graph& subgraph) {
    graphs_.push_back(&subgraph);
    return "graph_" + std::to_string(subgraph.number());
  }

  // CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE includes all other flags.
  [[nodiscard]] bool shows(unsigned flag) const {
    return (flags_ & (flag | CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE)) != 0;
  }

  [[nodiscard]] std::string id_of(const graph_node& node) const {
    const std::string id = std::to_string(node.number);
    return shows(CU_GRAPH_DEBUG_DOT_FLAGS_EXTRA_TOPO_INFO)
               ? id + " (topoId: " + std::to_string(node.mark) + ")"
               : id;
  }

  // Returns a line with the handle of the node if the flags select it.
  [[nodiscard]] std::string handle_line(const graph_node& node) const {
    return shows(CU_GRAPH_DEBUG_DOT_FLAGS_HANDLES)
               ? "node handle: " + address_text(node.handle()) + "\n"
               : "";
  }

  // Returns two groups of a record: the names of the node's ID, its handle and more fields, and
  // their values. `names` and `values` begin with separators.
  [[nodiscard]] std::string identity(const graph_node& node, const std::string& names = "",
                                     const std::string& values = "") const {
    const bool handle = shows(CU_GRAPH_DEBUG_DOT_FLAGS_HANDLES);
    return std::string{"| {{ID"} + (handle ? " | node handle" : "") + names + "} | {" +
           id_of(node) + (handle ? " | " + address_text(node.handle()) : "") + values + "}}";
  }

  // Returns attributes with a label of lines. A shape that is not a rectangle has no space after
  // it.
  [[nodiscard]] std::string lines(const graph_node& node, const std::string& title,
                                  const std::string& more = "",
                                  const char* shape = "\"rectangle\" ") const {
    return std::string{"style=\"solid\" shape="} + shape + "label=\"" + id_of(node) + "\n" + title +
           "\n" + handle_line(node) + more + "\"";
  }

  // Returns attributes with a record of rows, which line ends separate.
  [[nodiscard]] static std::string record(const char* title, const std::string& rows) {
    return std::string{"style=\"solid\" shape=\"record\" label=\"{\n"} + title + "\n" + rows +
           "\n}\"";
  }

  [[nodiscard]] std::string event_line(CUevent event) const {
    return shows(CU_GRAPH_DEBUG_DOT_FLAGS_EVENT_NODE_PARAMS)
               ? "event: " + address_text(event) + "\n"
               : "";
  }

  // Return the attributes of a node with these parameters.
  std::string attributes_of(const graph_node& node, const empty_params&) const {
    return lines(node, "EMPTY");
  }
  std::string attributes_of(const graph_node& node, const child_params& params) {
    return lines(node, name_of(*params.subgraph));
  }
  std::string attributes_of(const graph_node& node, const record_params& params) const {
    return lines(node, "EVENT_RECORD", event_line(params.event));
  }
  std::string attributes_of(const graph_node& node, const wait_params& params) const {
    return lines(node, "EVENT_WAIT", event_line(params.event));
  }
  std::string attributes_of(const graph_node& node, const CUDA_HOST_NODE_PARAMS& params) const;
  std::string attributes_of(const graph_node& node, const memset_params& params) const;
  std::string attributes_of(const graph_node& node, const copy_params& params) const;
  std::string attributes_of(const graph_node& node, const value_params& params) const;
  std::string attributes_of(const graph_node& node, const conditional_params& params);
  std::string attributes_of(const graph_node& node, const alloc_params& params) const;
  std::string attributes_of(const graph_node& node, const free_params& params) const;
  std::string attributes_of(const graph_node& node, const kernel_params& params) const;

  const unsigned flags_;
  std::vector<const graph*> graphs_;  // in the order in which they are drawn
  std::string text_;
};

std::string dot_writer::attributes_of(const graph_node& node,
                                      const CUDA_HOST_NODE_PARAMS& params) const {
  if (!shows(CU_GRAPH_DEBUG_DOT_FLAGS_HOST_NODE_PARAMS)) return lines(node, "HOST");
  return lines(node, "HOST",
               "fn: " + address_text(reinterpret_cast<std::uintptr_t>(params.fn)) +
                   "\nuserData: " + address_text(params.userData) + "\n");
}

// The record with parameters has its style twice, as the driver writes it.
std::string dot_writer::attributes_of(const graph_node& node, const memset_params& params) const {
  const CUDA_MEMSET_NODE_PARAMS& p = params.desc;
  if (!shows(CU_GRAPH_DEBUG_DOT_FLAGS_MEMSET_NODE_PARAMS)) {
    return lines(node, "MEMSET", text_of("(%u,%zu)\n", p.value, p.width * p.elementSize * p.height),
                 "\"invtrapezium\"");
  }
  return "style=\"solid\" style=\"solid\" shape=\"record\" label=\"{MEMSET\n" +
         identity(node, " | dptr | pitch | value | elementSize | width | height",
                  " | " + address_text(p.dst) +
                      text_of(" | %zu | %u | %u | %zu | %zu", p.pitch, p.value, p.elementSize,
                              p.width, p.height)) +
         "}\"";
}

std::string dot_writer::attributes_of(const graph_node& node, const copy_params& params) const {
  const auto [dst, src, size] = describe(params.desc);
  if (!shows(CU_GRAPH_DEBUG_DOT_FLAGS_MEMCPY_NODE_PARAMS)) {
    return lines(node, "MEMCPY",
                 text_of("(%cto%c,%zu)\n", *type_text(src), *type_text(dst),
                         size.width * size.height * size.depth),
                 "\"trapezium\"");
  }
  const std::string names =
      " MemoryType | Array | Host | Device | XInBytes | Y | Z | Pitch | Height | LOD";
  return record("MEMCPY", identity(node) + "\n| {{src | dst} | {" + names + " |" + names + "} | {" +
                              operand_fields(src) + " | " + operand_fields(dst) +
                              "}}\n| {Extent | {WidthInBytes | Height | Depth} | " +
                              text_of("{%zu | %zu | %zu}}", size.width, size.height, size.depth));
}

std::string dot_writer::attributes_of(const graph_node& node, const value_params& params) const {
  if (!shows(CU_GRAPH_DEBUG_DOT_FLAGS_BATCH_MEM_OP_NODE_PARAMS)) return lines(node, "BATCH_MEM_OP");
  std::string names;
  std::string values;
  for (std::size_t i = 0; i < params.operations.size(); ++i) {
    names += text_of("%s{paramArray[%zu] | {op | addr | val | flags }}", i == 0 ? "" : "\n| ", i);
    values += (i == 0 ? "" : "\n| ") + operation_fields(params.operations[i]);
  }
  return record("BATCH_MEM_OP",
                identity(node, " | count | flags ",
                         text_of(" | %zu | 0x00000000 ", params.operations.size())) +
                    "\n| {{" + names + "}\n| {" + values + "}}");
}

std::string dot_writer::attributes_of(const graph_node& node, const conditional_params& params) {
  static constexpr const char* types[] = {"IF", "WHILE", "SWITCH"};
  std::string text =
      "style=\"bold\" shape=\"record\" label=\"{\nCONDITIONAL\n| {ID | " + id_of(node) + "}\n";
  if (shows(CU_GRAPH_DEBUG_DOT_FLAGS_HANDLES))
    text += "| {node handle| " + address_text(node.handle()) + "}\n";
  if ((flags_ & CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE) != 0)
    text += text_of("| {Conditional Handle|%" PRIu64 "}\n", std::uint64_t{params.condition});
  text += std::string{"| {Conditional Type| "} + types[params.type] + "}\n";
  for (std::size_t i = 0; i < params.bodies.size(); ++i) {
    const std::string name = name_of(*params.bodies[i]);
    if (params.type == CU_GRAPH_COND_TYPE_SWITCH) {
      text += "| {" + std::to_string(i) + "|  " + name + "}\n";
    } else if (params.bodies.size() == 1) {
      text += "| {True|" + name + "}\n";
    } else {
      text += (i == 0 ? "| {True | " : "| {False| ") + name + "}\n";
    }
  }
  return text + "}\n\"";
}

std::string dot_writer::attributes_of(const graph_node& node, const alloc_params& params) const {
  if (!shows(CU_GRAPH_DEBUG_DOT_FLAGS_MEM_ALLOC_NODE_PARAMS)) return lines(node, "MEM_ALLOC");
  std::string rows = identity(node) +
                     "\n| {{{poolProps | {allocType | handleTypes | {location | {type | id}}} | "
                     "{PINNED | NONE | DEVICE | " +
                     std::to_string(params.desc.poolProps.location.id) + "}}}}";
  for (std::size_t i = 0; i < params.access.size(); ++i) {
    const CUmemAccessDesc& access = params.access[i];
    rows += text_of(
        "\n| {{accessDescs[%zu]} | {{location | {type | id}} | flags} | {DEVICE | %d | %s}}", i,
        access.location.id,
        access.flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE ? "READWRITE" : "READ");
  }
  return record("MEM_ALLOC", rows + "\n| {{bytesize | dptr} | {" +
                                 std::to_string(params.desc.bytesize) + " | " +
                                 address_text(params.desc.dptr) + "}}");
}

std::string dot_writer::attributes_of(const graph_node& node, const free_params& params) const {
  if (!shows(CU_GRAPH_DEBUG_DOT_FLAGS_MEM_FREE_NODE_PARAMS)) return lines(node, "MEM_FREE");
  return record("MEM_FREE",
                identity(node) + "\n| {{dptr} | {" + address_text(params.block->address()) + "}}");
}

std::string dot_writer::attributes_of(const graph_node& node, const kernel_params& params) const {
  const std::string launch =
      shows(CU_GRAPH_DEBUG_DOT_FLAGS_KERNEL_NODE_PARAMS) ? launch_text(params.desc->shape()) : "";
  const std::string function =
      params.function != nullptr ? address_text(params.function) : address_text(params.kernel);
  const std::string name = params.desc->kernel().name;
  const bool handles = shows(CU_GRAPH_DEBUG_DOT_FLAGS_HANDLES);
  if (!shows(CU_GRAPH_DEBUG_DOT_FLAGS_KERNEL_NODE_ATTRIBUTES)) {
    return "style=\"bold\" shape=\"octagon\" label=\"" + id_of(node) + "\n" + name + "\n" + launch +
           handle_line(node) + (handles ? "func handle: " + function + "\n" : "") + "\"";
  }
  return "style=\"bold\" shape=\"record\" label=\"{KERNEL\n| {ID | " + id_of(node) + " | " + name +
         launch + "}\n" +
         (handles ? "| {{node handle | func handle} | {" + address_text(node.handle()) + " | " +
                        function + "}}\n"
                  : "") +
         window_row(params) +
         text_of("| {cooperative | %d}\n| {priority | %d}\n}\"",
                 params.desc->shape().cooperative ? 1 : 0, params.desc->priority());
}

// Sets the mark of each node to its number in the topological order of the driver. The order begins
// with the nodes without dependents, newest first. It does not contain nodes from which all paths
// lead to a cycle; they get the number of nodes as their mark.
void number_topologically(const graph& source_graph) {
  const std::vector<graph_node*>& nodes = source_graph.nodes();
  std::vector<graph_node*> order;
  const auto append = [&](graph_node* node) {
    node->mark = order.size();
    order.push_back(node);
  };
  for (graph_node* const node : nodes) node->mark = nodes.size();
  for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
    if ((*node)->dependents.empty()) append(*node);
  }
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (graph_node* const dependency : order[i]->dependencies) {
      if (dependency->mark == nodes.size()) append(dependency);
    }
  }
}

// The driver shows neither ports nor types of edges.
void dot_writer::draw_edges(const graph_node& node, const std::string& prefix) {
  for (const graph_node* const dependent : node.dependents) {
    text_ += prefix + std::to_string(node.number) + "\" -> " + prefix +
             std::to_string(dependent->number) + "\"";
    if (shows(CU_GRAPH_DEBUG_DOT_FLAGS_EXTRA_TOPO_INFO)) {
      const auto& all = dependent->dependencies.all();
      text_ += " [headlabel=" + std::to_string(std::ranges::find(all, &node) - all.begin()) + "]";
    }
    text_ += ";\n";
  }
}

void dot_writer::draw_graph(const graph& source_graph) {
  const std::string number = std::to_string(source_graph.number());
  const std::string prefix = "\"graph_" + number + "_node_";
  text_ += "subgraph cluster_" + number + " {\nlabel=\"graph_" + number +
           "\" graph[style=\"dashed\"];\n";
  number_topologically(source_graph);  // id_of() reads these numbers
  for (const graph_node* const node : source_graph.nodes()) {
    text_ +=
        prefix + std::to_string(node->number) + "\"[" +
        std::visit([&](const auto& params) { return attributes_of(*node, params); }, node->params) +
        "];\n\n";
  }
  for (const graph_node* const node : source_graph.nodes()) draw_edges(*node, prefix);
  text_ += "}\n";
}

}  // namespace

std::string dot(const graph& source_graph, unsigned flags) {
  return dot_writer{flags}.draw(source_graph);
}

}  // namespace weir::embedded::model
