// SPDX-License-Identifier: Apache-2.0
// api/graph/graph_metadata.cpp - the store of graph metadata, its lifetime, and its copies.
#include "api/graph/graph_metadata.hpp"

#include "api/core/check.hpp"
#include "api/core/never_destroyed.hpp"
#include "api/graph/graph_parts.hpp"
#include "api/graph/node_calls.hpp"
#include "api/graph/node_metadata.hpp"
#include "api/graph/user_object.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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

void locked_graph_metadata::lock(CUgraph graph) {
  lock_ = std::unique_lock{metadata_store().lock};
  store_ = &metadata_store().store;
  metadata_ = store_->find(graph);
}

node_metadata& graph_metadata_store::metadata_of(graph_metadata& owner_metadata, CUgraphNode node) {
  const auto [metadata, is_inserted] = owner_metadata.nodes.try_emplace(node);
  if (is_inserted) metadata->second.id = ++last_id;
  return metadata->second;
}

std::vector<CUuserObject> graph_metadata_store::erase_node(graph_metadata& owner_metadata,
                                                           CUgraphNode node) noexcept {
  for (auto next = owner_metadata.parts.begin(); next != owner_metadata.parts.end();) {
    const CUgraph part = *next++;
    if (find(part)->node == node) erase(part);
  }
  std::vector<CUuserObject> owners;
  if (const auto metadata = owner_metadata.nodes.find(node);
      metadata != owner_metadata.nodes.end()) {
    owners = std::move(metadata->second.owners);
    owner_metadata.nodes.erase(metadata);
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
  if (erased.mapped().unusable) unusable_graph_count.fetch_sub(1, std::memory_order_relaxed);
  if (graph_metadata* const parent = find(erased.mapped().parent)) std::erase(parent->parts, graph);
  for (const CUgraph part : erased.mapped().parts) erase(part);
}

void graph_metadata_store::update_count() noexcept {
  graph_metadata_count.store(static_cast<int>(graphs.size()), std::memory_order_relaxed);
}

const char* graph_metadata_store::intern_file_name(const char* path) {
  const char* const slash = std::strrchr(path, '/');
  const char* const name = slash == nullptr ? path : slash + 1;
  // Most call sites are in the file of the previous call site.
  if (std::strcmp(name, last_file_) == 0) return last_file_;
  const auto existing = files_.find(std::string_view{name});
  last_file_ = existing != files_.end() ? existing->c_str() : files_.emplace(name).first->c_str();
  return last_file_;
}

namespace {

// Data of the user object of ensure_metadata(). The driver destroys it after the graph and its
// clones and executables. `id` tells whether the metadata under this handle are still those of that
// graph.
struct metadata_destructor {
  CUgraph graph;
  unsigned long long id;
};

void CUDA_CB destroy_metadata(void* data) {
  const std::unique_ptr<metadata_destructor> owned{static_cast<metadata_destructor*>(data)};
  if (os::in_forked_child()) return;
  const locked_metadata_store store;
  const graph_metadata* const found = store->find(owned->graph);
  if (found == nullptr || found->id != owned->id) return;
  store->erase(owned->graph);
  store->update_count();
}

}  // namespace

void ensure_metadata(CUgraph graph, call_site at) {
  auto destructor = std::make_unique<metadata_destructor>(metadata_destructor{graph, 0});
  {
    const locked_metadata_store store;
    if (store->find(graph) != nullptr) return;
    destructor->id = ++store->last_id;
  }
  const unsigned long long id = destructor->id;
  const CUuserObject object =
      create_user_object(destructor.get(), &destroy_metadata, subject::graph(graph), at);
  static_cast<void>(destructor.release());
  move_to_graph(graph, object, at);
  const locked_metadata_store store;
  store->graphs.try_emplace(graph).first->second.id = id;
  store->update_count();
}

void erase_metadata(CUgraph graph) noexcept {
  const locked_metadata_store store;
  store->erase(graph);
  store->update_count();
}

struct metadata_removal::removed_metadata {
  std::vector<graph_metadata_map::node_type> each;
};

metadata_removal::metadata_removal(CUgraph graph) noexcept {
  if (!any_graph_metadata()) return;
  const locked_metadata_store store;
  try {
    auto extracted = std::make_unique<removed_metadata>();
    store->extract(graph, extracted->each);
    removed_ = extracted.release();
  } catch (...) {
    // Memory is exhausted, so restore() cannot put the metadata back.
    store->erase(graph);
  }
  store->update_count();
}

metadata_removal::~metadata_removal() { delete removed_; }

void metadata_removal::restore() noexcept {
  if (removed_ == nullptr) return;
  const locked_metadata_store store;
  for (graph_metadata_map::node_type& each : removed_->each) {
    if (!each.empty()) store->graphs.insert(std::move(each));
  }
  store->update_count();
}

namespace {

// The nodes that a graph has at this moment. Metadata may contain nodes that were destroyed, and a
// driver may crash if it is queried about such a node.
class existing_nodes {
 public:
  existing_nodes(CUgraph graph, call_site at) : nodes_{nodes_of(graph, at)} {
    std::ranges::sort(nodes_);
  }

  // Removes the entries whose node does not exist.
  template <class Entries, class NodeOf>
  void erase_others(Entries& entries, NodeOf node_of) const {
    std::erase_if(entries, [&](const auto& each) {
      return !std::ranges::binary_search(nodes_, std::invoke(node_of, each));
    });
  }

 private:
  std::vector<CUgraphNode> nodes_;
};

}  // namespace

void copy_metadata(CUgraph original, CUgraph copy, call_site at) {
  if (!any_graph_metadata()) return;
  auto tags = get_tags(original).tags;
  auto children = get_child_graphs(original);
  std::vector<node_call_site> sites = get_call_sites(original);
  if (tags.empty() && children.empty() && sites.empty()) return;
  const existing_nodes existing{original, at};
  existing.erase_others(tags, &std::pair<std::string, CUgraphNode>::second);
  existing.erase_others(children, &std::pair<CUgraphNode, CUgraph>::first);
  existing.erase_others(sites, &node_call_site::node);
  const subject named_graph = subject::graph(original);
  const auto clone_of = [&](CUgraphNode node) {
    CUgraphNode clone = nullptr;
    check(driver().cuGraphNodeFindInClone(&clone, node, copy), "cuGraphNodeFindInClone",
          named_graph, at);
    return clone;
  };
  if (root_of(copy) == copy) ensure_metadata(copy, at);
  for (const auto& [tag, node] : tags) set_tag(copy, clone_of(node), tag);
  for (node_call_site& site : sites) site.node = clone_of(site.node);
  add_call_sites(copy, sites);
  for (const auto& [node, child] : children) {
    const CUgraphNode clone = clone_of(node);
    CUgraph part = nullptr;
    check(driver().cuGraphChildGraphNodeGetGraph(clone, &part), "cuGraphChildGraphNodeGetGraph",
          named_graph, at);
    add_part(part, copy, clone, part_kind::child);
    copy_metadata(child, part, at);
  }
}

}  // namespace weir::detail
