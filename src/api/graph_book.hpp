// api/graph_book.hpp - what weir remembers of graphs that a driver does not tell: tags, owners, parts.
#pragma once

#include "driver/abi.hpp"
#include "driver/forked_child.hpp"

#include <weir/call_site.hpp>

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::detail {

// By the handles of graphs and nodes, which a driver gives out again for others. Two things see to it that nobody is
// taken for somebody else: a graph that weir makes begins without notes, and one that weir destroys leaves none; and a
// graph that has notes keeps a user object that ends them, for when somebody else destroys it. The lock is never held
// while the driver is called: it may call back, to end that object.

// How many graphs have notes. Mostly none, which makes a look a load.
inline constinit std::atomic<int> graphs_noted{0};
[[nodiscard]] inline bool any_graph_noted() noexcept {
  return graphs_noted.load(std::memory_order_relaxed) != 0 && !in_forked_child();
}

// For notes on a graph that is nobody's part: makes the object that ends them, if there is none.
void open_book(abi::CUgraph graph, call_site at);

// A graph that was just made, or is about to be destroyed, has no notes, and its parts have none.
void drop_notes(abi::CUgraph graph) noexcept;
inline void forget_graph(abi::CUgraph graph) noexcept {
  if (any_graph_noted()) [[unlikely]] {
    drop_notes(graph);
  }
}

// The same for one that is being destroyed: if that fails, kept() leaves the notes as they were.
class leaving_notes {
 public:
  explicit leaving_notes(abi::CUgraph graph) noexcept;
  leaving_notes(const leaving_notes&) = delete;
  leaving_notes& operator=(const leaving_notes&) = delete;
  ~leaving_notes();
  void kept() noexcept;

 private:
  struct taken_notes;
  taken_notes* taken_ = nullptr;
};

// Tags. An empty one is none.
void note_tag(abi::CUgraph graph, abi::CUgraphNode node, std::string_view tag);
[[nodiscard]] std::string noted_tag(abi::CUgraph graph, abi::CUgraphNode node);
struct found_tag {
  abi::CUgraphNode node = nullptr;  // one of them
  std::size_t count = 0;
};
[[nodiscard]] found_tag find_tag(abi::CUgraph graph, std::string_view tag);
using tag_list = std::vector<std::pair<std::string, abi::CUgraphNode>>;
[[nodiscard]] tag_list noted_tags(abi::CUgraph graph);

// The graph that has notes on the node; null if none has. For texts.
[[nodiscard]] abi::CUgraph noted_graph_of(abi::CUgraphNode node);

// The lines that added nodes by hand, for pictures. The file without its folders, kept here: what the caller named it
// with may go, with the library that it is a part of.
struct node_site {
  abi::CUgraphNode node = nullptr;
  const char* file = "";
  unsigned line = 0;
};
// Takes the memory for one more, before the node is made, and opens the book. Gives what note_site() has to be given, with
// the node.
[[nodiscard]] node_site reserve_site(abi::CUgraph graph, call_site at);
// The node was just made. What was noted of another one that had its handle goes; gives the user objects that the graph
// had for that.
[[nodiscard]] std::vector<abi::CUuserObject> note_site(abi::CUgraph graph, const node_site& site) noexcept;
// Of nodes that are there no more, too; of several of one node the last counts.
[[nodiscard]] std::vector<node_site> noted_sites(abi::CUgraph graph);
void note_sites(abi::CUgraph graph, const std::vector<node_site>& sites);

// The user objects that a graph has for the parameters of a node; gives those before.
[[nodiscard]] std::vector<abi::CUuserObject> note_owners(abi::CUgraph graph, abi::CUgraphNode node,
                                                         std::vector<abi::CUuserObject> owners);

// The node is gone: what there was of it goes. Gives the user objects that the graph had for it.
[[nodiscard]] std::vector<abi::CUuserObject> forget_node(abi::CUgraph graph, abi::CUgraphNode node) noexcept;

// A graph that is a part of a node, a child graph or a body: has notes from then on, of which there are none so far. What it
// is a part of has an open book.
enum class part_kind : unsigned char { child, body };
void note_part(abi::CUgraph part, abi::CUgraph of, abi::CUgraphNode node, part_kind kind);

// The memory for notes on so many parts of one node, taken before the node is made: it may be one that cannot be taken out
// again.
class room_for_parts {
 public:
  explicit room_for_parts(std::size_t parts);
  room_for_parts(const room_for_parts&) = delete;
  room_for_parts& operator=(const room_for_parts&) = delete;
  ~room_for_parts();

  void note(abi::CUgraph part, abi::CUgraph of, abi::CUgraphNode node, part_kind kind) noexcept;
  // One that was a root becomes a part, and keeps its notes.
  void note_moved(abi::CUgraph part, abi::CUgraph of, abi::CUgraphNode node) noexcept;
  // The bodies of a conditional node, which are all of these parts.
  void note_conditional(abi::CUgraph graph, abi::CUgraphNode node, unsigned type,
                        std::span<const abi::CUgraph> bodies) noexcept;

 private:
  struct memory;
  void put(abi::CUgraph part, abi::CUgraph of, abi::CUgraphNode node, part_kind kind) noexcept;

  std::unique_ptr<memory> memory_;
};

[[nodiscard]] bool is_part_of(abi::CUgraph part, abi::CUgraph whole) noexcept;  // itself too
[[nodiscard]] bool is_in_body(abi::CUgraph graph) noexcept;
// The root that the graph is known to be a part of; itself if it is known to be none's.
[[nodiscard]] abi::CUgraph root_of(abi::CUgraph graph) noexcept;

// The bodies of a conditional node.
struct noted_conditional {
  unsigned type = 0;
  std::vector<abi::CUgraph> bodies;
};
[[nodiscard]] std::optional<noted_conditional> conditional_noted(abi::CUgraph graph, abi::CUgraphNode node);

// The child graphs of a graph that are noted, with their nodes.
[[nodiscard]] std::vector<std::pair<abi::CUgraphNode, abi::CUgraph>> noted_children(abi::CUgraph graph);

// The copy of a graph gets the tags that it has and the lines that added its nodes, its child graphs too. It is a clone
// or a child graph node's own.
void copy_notes(abi::CUgraph from, abi::CUgraph copy, call_site at);

}  // namespace weir::detail
