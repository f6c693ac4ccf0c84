// api/graph/graph_metadata_store.cpp - all notes on graphs, by handle.
#include "api/graph/graph_metadata_store.hpp"

#include "api/core/never_destroyed.hpp"
#include "api/graph/graph_metadata.hpp"

#include <atomic>
#include <cstring>
#include <string_view>
#include <utility>

namespace weir::detail {
namespace {

struct guarded_metadata_store {
  std::mutex lock;
  graph_metadata_store store;
};

guarded_metadata_store& metadata_store() {
  static never_destroyed<guarded_metadata_store> singleton;
  return *singleton;
}

}  // namespace

locked_metadata_store::locked_metadata_store()
    : store_{metadata_store().store}, lock_{metadata_store().lock} {}

node_metadata& graph_metadata_store::metadata_of(graph_metadata& of, CUgraphNode node) {
  const auto [metadata, is_inserted] = of.nodes.try_emplace(node);
  if (is_inserted) metadata->second.id = ++last_id;
  return metadata->second;
}

std::vector<CUuserObject> graph_metadata_store::erase_node(graph_metadata& of,
                                                           CUgraphNode node) noexcept {
  for (auto next = of.parts.begin(); next != of.parts.end();) {
    const CUgraph part = *next++;
    if (find(part)->node == node) erase(part);
  }
  std::vector<CUuserObject> owners;
  if (const auto metadata = of.nodes.find(node); metadata != of.nodes.end()) {
    owners = std::move(metadata->second.owners);
    of.nodes.erase(metadata);
  }
  update_count();
  return owners;
}

void graph_metadata_store::extract(CUgraph graph, std::vector<graph_metadata_map::node_type>& out) {
  graph_metadata_map::node_type extracted = graphs.extract(graph);
  if (extracted.empty()) return;
  out.push_back(std::move(extracted));
  for (const CUgraph part : std::list{out.back().mapped().parts}) extract(part, out);
}

void graph_metadata_store::erase(CUgraph graph) noexcept {
  const graph_metadata_map::node_type erased = graphs.extract(graph);
  if (erased.empty()) return;
  if (erased.mapped().lost) lost_graph_count.fetch_sub(1, std::memory_order_relaxed);
  if (graph_metadata* const parent = find(erased.mapped().parent)) std::erase(parent->parts, graph);
  for (const CUgraph part : erased.mapped().parts) erase(part);
}

void graph_metadata_store::update_count() noexcept {
  graph_metadata_count.store(static_cast<int>(graphs.size()), std::memory_order_relaxed);
}

const char* graph_metadata_store::intern_file_name(const char* path) {
  const char* const slash = std::strrchr(path, '/');
  const char* const name = slash == nullptr ? path : slash + 1;
  if (std::strcmp(name, last_file_) == 0) return last_file_;  // mostly
  const auto known = files_.find(std::string_view{name});
  last_file_ = known != files_.end() ? known->c_str() : files_.emplace(name).first->c_str();
  return last_file_;
}

}  // namespace weir::detail
