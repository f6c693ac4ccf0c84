// SPDX-License-Identifier: Apache-2.0
// api/graph/graph_metadata.cpp - the store of graph metadata, its lifetime, and its copies.
#include "api/graph/graph_metadata.hpp"

#include "api/core/check.hpp"
#include "api/core/never_destroyed.hpp"
#include "api/graph/node_calls.hpp"
#include "api/graph/user_object.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
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

bool graph_metadata::has_node(CUgraphNode searched) const noexcept {
  if (nodes.contains(searched)) return true;
  // Searches from the end, because callers mostly ask for a node that was added recently.
  return std::ranges::find(sites.rbegin(), sites.rend(), searched, &node_call_site::node) !=
         sites.rend();
}

std::vector<kept_owner> graph_metadata_store::erase_node(graph_metadata& owner_metadata,
                                                         CUgraphNode node,
                                                         graph_metadata_map& removed) noexcept {
  const auto [first_part, last_part] = owner_metadata.parts.equal_range(node);
  for (auto part = first_part; part != last_part; ++part) extract(part->second, removed);
  owner_metadata.parts.erase(first_part, last_part);
  update_count();
  std::vector<kept_owner> owners;
  if (const auto metadata = owner_metadata.nodes.find(node);
      metadata != owner_metadata.nodes.end()) {
    owners = std::move(metadata->second.owners);
    owner_metadata.nodes.erase(metadata);
  }
  return owners;
}

void graph_metadata_store::extract(CUgraph graph, graph_metadata_map& removed) noexcept {
  graph_metadata_map::node_type extracted = graphs.extract(graph);
  if (extracted.empty()) return;
  const auto moved = removed.insert(std::move(extracted)).position;
  for (const auto& [node, part] : moved->second.parts) extract(part, removed);
}

void graph_metadata_store::erase(CUgraph graph, graph_metadata_map& removed) noexcept {
  const graph_metadata* const erased = find(graph);
  if (erased == nullptr) return;
  if (erased->unusable) unusable_graph_count.fetch_sub(1, std::memory_order_relaxed);
  if (graph_metadata* const parent = find(erased->parent)) {
    const auto [first, last] = parent->parts.equal_range(erased->node);
    const auto found =
        std::find_if(first, last, [=](const auto& each) { return each.second == graph; });
    if (found != last) parent->parts.erase(found);
  }
  extract(graph, removed);
  update_count();
}

bool graph_metadata_store::has_ended_memory_only(
    const graph_metadata_map::value_type& graph) noexcept {
  const graph_metadata& metadata = graph.second;
  return metadata.id == 0 && has_no_buffer(metadata.captured) &&
         std::ranges::all_of(metadata.used, [](const auto& each) { return each->closed(); });
}

void graph_metadata_store::erase_ended() noexcept {
  std::erase_if(graphs, has_ended_memory_only);
  update_count();
}

void graph_metadata_store::update_count() noexcept {
  graph_metadata_count.store(static_cast<int>(graphs.size()), std::memory_order_relaxed);
}

const char* graph_metadata_store::intern_file_name(const char* path) {
  const char* const slash = std::strrchr(path, '/');
  const char* const name = slash == nullptr ? path : slash + 1;
  // Most call sites are in the file of the previous call site.
  if (std::strcmp(name, last_file_) == 0) return last_file_;
  last_file_ = files_.emplace(name).first->c_str();
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
  graph_metadata_map removed;
  const locked_metadata_store store;
  const graph_metadata* const found = store->find(owned->graph);
  if (found == nullptr || found->id != owned->id) return;
  store->erase(owned->graph, removed);
}

}  // namespace

void ensure_metadata(CUgraph graph, call_site at) {
  unsigned long long id = 0;
  {
    const locked_metadata_store store;
    if (const graph_metadata* const found = store->find(graph); found != nullptr && found->id != 0)
      return;
    id = ++store->last_id;
  }
  auto destructor = std::make_unique<metadata_destructor>(metadata_destructor{graph, id});
  const CUuserObject object =
      create_user_object(destructor.get(), &destroy_metadata, subject::graph(graph), at);
  static_cast<void>(destructor.release());  // the user object owns it from now on
  move_to_graph(graph, object, at);
  const locked_metadata_store store;
  store->graphs.try_emplace(graph).first->second.id = id;
  store->update_count();
}

void forget_metadata(CUgraph graph) noexcept {
  if (!any_graph_metadata()) return;
  graph_metadata_map removed;
  const locked_metadata_store store;
  store->erase(graph, removed);
}

part_reservation::part_reservation(std::size_t parts) {
  for (std::size_t i = 0; i < parts; ++i) {
    entries_[reinterpret_cast<CUgraph>(i)];
    part_slots_.emplace(nullptr, nullptr);
  }
}

void part_reservation::insert(graph_metadata_store& store, CUgraph part, CUgraph parent_graph,
                              CUgraphNode node, part_kind kind) noexcept {
  graph_metadata* const parent = store.find(parent_graph);
  if (parent == nullptr) return;
  graph_metadata* part_metadata = store.find(part);
  if (part_metadata == nullptr) {
    graph_metadata_map::node_type entry = entries_.extract(entries_.begin());
    entry.key() = part;
    part_metadata = &store.graphs.insert(std::move(entry)).position->second;
  }
  if (part_metadata->id == 0) part_metadata->id = ++store.last_id;
  part_metadata->parent = parent_graph;
  part_metadata->node = node;
  part_metadata->kind = kind;
  graph_part_map::node_type slot = part_slots_.extract(part_slots_.begin());
  slot.key() = node;
  slot.mapped() = part;
  parent->parts.insert(std::move(slot));
  store.update_count();
}

void part_reservation::add_part(CUgraph part, CUgraph parent_graph, CUgraphNode node,
                                part_kind kind) noexcept {
  graph_metadata_map removed;
  captured_memory_owners captured;
  used_memory used;
  const locked_metadata_store store;
  if (store->is_part(part, parent_graph, node)) return;
  // An entry with the id 0 has only the owners of a capture into `part`. The entry of a part is
  // that of a destroyed graph. The entry of a root may be that of `part`, moved by other code, so
  // its owners are kept.
  if (graph_metadata* const existing = store->find(part);
      existing != nullptr && existing->id != 0) {
    if (existing->parent == nullptr) {
      captured.swap(existing->captured);
      used.swap(existing->used);
    }
    store->erase(part, removed);
  }
  insert(*store, part, parent_graph, node, kind);
  if (graph_metadata* const added = store->find(part)) {
    added->captured.merge(captured);
    added->used.merge(used);
  }
}

void part_reservation::add_moved_part(CUgraph part, CUgraph parent_graph,
                                      CUgraphNode node) noexcept {
  const locked_metadata_store store;
  insert(*store, part, parent_graph, node, part_kind::child);
}

metadata_removal::metadata_removal(CUgraph graph) noexcept {
  if (!any_graph_metadata()) return;
  const locked_metadata_store store;
  store->extract(graph, removed_);
  // Not restored: released before the driver may reuse the addresses.
  for (auto& [removed_graph, metadata] : removed_) metadata.captured.clear();
  store->update_count();
}

void metadata_removal::restore() noexcept {
  if (removed_.empty()) return;
  const locked_metadata_store store;
  store->graphs.merge(removed_);
  store->update_count();
}

namespace {

// The child graphs of a graph and the nodes that contain them, as far as weir knows them.
using child_list = std::vector<std::pair<CUgraphNode, CUgraph>>;

child_list children_of(CUgraph graph) {
  child_list children;
  const locked_graph_metadata metadata{graph};
  if (!metadata) return children;
  for (const auto& [node, part] : metadata->parts) {
    if (metadata.store().find(part)->kind == part_kind::child) children.emplace_back(node, part);
  }
  return children;
}

std::vector<node_call_site> call_sites_of(CUgraph graph) {
  const locked_graph_metadata metadata{graph};
  return metadata ? metadata->sites : std::vector<node_call_site>{};
}

// Removes the entries whose node is not in `existing`, which is sorted.
template <class Entries, class NodeOf>
void erase_others(Entries& entries, const std::vector<CUgraphNode>& existing, NodeOf node_of) {
  std::erase_if(entries, [&](const auto& each) {
    return !std::ranges::binary_search(existing, std::invoke(node_of, each));
  });
}

}  // namespace

void copy_metadata(CUgraph original, CUgraph copy, call_site at) {
  copy_graph_memory(original, copy);
  auto tags = get_tags(original).tags;
  std::vector<node_call_site> sites = call_sites_of(original);
  child_list children = children_of(original);
  if (tags.empty() && sites.empty() && children.empty()) return;
  // Metadata may contain nodes that were destroyed, and a driver may crash if it is queried about
  // such a node.
  std::vector<CUgraphNode> existing = nodes_of(original, at);
  std::ranges::sort(existing);
  erase_others(tags, existing, &std::pair<std::string, CUgraphNode>::second);
  erase_others(sites, existing, &node_call_site::node);
  erase_others(children, existing, &child_list::value_type::first);
  const auto clone_of = [&](CUgraphNode node) {
    CUgraphNode clone = nullptr;
    check(driver().cuGraphNodeFindInClone(&clone, node, copy), "cuGraphNodeFindInClone",
          subject::graph(original), at);
    return clone;
  };
  if (root_of(copy) == copy) ensure_metadata(copy, at);  // a known part has metadata already
  for (const auto& [tag, node] : tags) set_tag(copy, clone_of(node), tag);
  for (node_call_site& site : sites) site.node = clone_of(site.node);
  if (const locked_graph_metadata metadata{copy}; metadata)
    metadata->sites.insert(metadata->sites.end(), sites.begin(), sites.end());
  for (const auto& [node, child] : children) {
    const CUgraphNode clone = clone_of(node);
    CUgraph part = nullptr;
    check(driver().cuGraphChildGraphNodeGetGraph(clone, &part), "cuGraphChildGraphNodeGetGraph",
          subject::graph(original), at);
    part_reservation{1}.add_part(part, copy, clone, part_kind::child);
    copy_metadata(child, part, at);
  }
}

}  // namespace weir::detail
