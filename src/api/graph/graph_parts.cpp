// api/graph/graph_parts.cpp - which graphs are parts of others.
#include "api/graph/graph_parts.hpp"

#include "api/memory/captured_memory.hpp"
#include "api/graph/graph_book.hpp"
#include "api/graph/graph_library.hpp"

#include <list>
#include <utility>

namespace weir::detail {

void note_part(CUgraph part, CUgraph of, CUgraphNode node, part_kind kind) {
  if (locked_library in; in->is_part(part, of, node)) return;
  room_for_parts{1}.note(part, of, node, kind);
}

struct room_for_parts::memory {
  books entries;  // as many as there are parts, under keys that do not matter
  std::list<CUgraph> places;
  notes_by_node notes;  // of one node

  void put(library& in, CUgraph part, CUgraph of, CUgraphNode node, part_kind kind) noexcept;
};

void room_for_parts::memory::put(library& in, CUgraph part, CUgraph of, CUgraphNode node, part_kind kind) noexcept {
  book* const whole = in.find(of);
  if (whole == nullptr) return;
  book* noted = in.find(part);
  if (noted == nullptr) {
    books::node_type entry = entries.extract(entries.begin());
    entry.key() = part;
    noted = &in.all.insert(std::move(entry)).position->second;
    noted->number = ++in.last_number;
  }
  noted->whole = of;
  noted->node = node;
  noted->kind = kind;
  places.front() = part;
  whole->parts.splice(whole->parts.end(), places, places.begin());
  in.count();
}

room_for_parts::room_for_parts(std::size_t parts) : memory_{std::make_unique<memory>()} {
  memory_->places.resize(parts);
  for (std::size_t i = 0; i < parts; ++i) memory_->entries[reinterpret_cast<CUgraph>(i)];
  memory_->notes.try_emplace(nullptr).first->second.conditional.bodies.reserve(parts);
}

room_for_parts::~room_for_parts() = default;

void room_for_parts::note(CUgraph part, CUgraph of, CUgraphNode node, part_kind kind) noexcept {
  const locked_library in;
  if (in->is_part(part, of, node)) return;
  in->drop(part);
  memory_->put(*in, part, of, node, kind);
}

void room_for_parts::note_moved(CUgraph part, CUgraph of, CUgraphNode node) noexcept {
  const locked_library in;
  memory_->put(*in, part, of, node, part_kind::child);
}

void room_for_parts::note_conditional(CUgraph graph, CUgraphNode node, unsigned type,
                                      std::span<const CUgraph> bodies) noexcept {
  const locked_library in;
  book* const found = in->find(graph);
  if (found == nullptr) return;
  notes_by_node::node_type entry = memory_->notes.extract(memory_->notes.begin());
  entry.key() = node;
  entry.mapped().number = ++in->last_number;
  noted_conditional& what = entry.mapped().conditional;
  what.type = type;
  what.bodies.assign(bodies.begin(), bodies.end());
  found->nodes.erase(node);
  found->nodes.insert(std::move(entry));
}

bool is_part_of(CUgraph part, CUgraph whole) noexcept {
  if (part == whole) return true;
  if (!any_graph_noted()) return false;
  const locked_library in;
  for (const book* b = in->find(part); b != nullptr && b->whole != nullptr; b = in->find(b->whole)) {
    if (b->whole == whole) return true;
  }
  return false;
}

bool is_part_of_node(CUgraph part, CUgraph whole, CUgraphNode node) noexcept {
  if (!any_graph_noted()) return false;
  const locked_library in;
  for (const book* b = in->find(part); b != nullptr && b->whole != nullptr; b = in->find(b->whole)) {
    if (b->whole == whole && b->node == node) return true;
  }
  return false;
}

bool is_in_body(CUgraph graph) noexcept {
  if (!any_graph_noted()) return false;
  const locked_library in;
  for (const book* b = in->find(graph); b != nullptr && b->whole != nullptr; b = in->find(b->whole)) {
    if (b->kind == part_kind::body) return true;
  }
  return false;
}

CUgraph root_of(CUgraph graph) noexcept {
  if (!any_graph_noted()) return graph;
  const locked_library in;
  for (const book* b = in->find(graph); b != nullptr && b->whole != nullptr; b = in->find(graph)) graph = b->whole;
  return graph;
}

void note_destroyed(CUgraph graph) noexcept {
  const CUgraph root = root_of(graph);
  if (root == graph) note_graph_destroyed(graph);
  if (!any_graph_noted()) return;
  const locked_library in;
  if (root == graph) {
    in->drop(graph);
    in->count();
    return;
  }
  // It stays noted as a part of that, so that whoever still has its handle is refused, too.
  book* const whole = in->find(root);
  if (whole != nullptr && !std::exchange(whole->lost, true)) graphs_lost.fetch_add(1, std::memory_order_relaxed);
}

bool look_for_lost(CUgraph graph) noexcept {
  const CUgraph root = root_of(graph);
  const locked_library in;
  const book* const whole = in->find(root);
  return whole != nullptr && whole->lost;
}

std::optional<noted_conditional> conditional_noted(CUgraph graph, CUgraphNode node) {
  if (!any_graph_noted()) return {};
  const locked_library in;
  const book* const found = in->find(graph);
  if (found == nullptr) return {};
  const auto notes = found->nodes.find(node);
  if (notes == found->nodes.end() || notes->second.conditional.bodies.empty()) return {};
  return notes->second.conditional;
}

std::vector<std::pair<CUgraphNode, CUgraph>> noted_children(CUgraph graph) {
  std::vector<std::pair<CUgraphNode, CUgraph>> children;
  if (!any_graph_noted()) return children;
  const locked_library in;
  const book* const found = in->find(graph);
  if (found == nullptr) return children;
  for (const CUgraph part : found->parts) {
    const book& noted = *in->find(part);
    if (noted.kind == part_kind::child) children.emplace_back(noted.node, part);
  }
  return children;
}

}  // namespace weir::detail
