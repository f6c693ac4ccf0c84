// api/graph/node_metadata.hpp - what weir remembers of nodes that a driver does not tell: tags,
// call sites, owners.
#pragma once

#include "driver/abi.hpp"

#include <weir/core/call_site.hpp>
#include <weir/detail/keep_alive.hpp>
#include <weir/graph/nodes/graph_node.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::detail {

// All of it goes with the notes on the graph (graph_book.hpp), and where that has none nothing is
// remembered.

// Tags. An empty one is none.
void set_tag(abi::CUgraph graph, abi::CUgraphNode node, std::string_view tag);
[[nodiscard]] std::string get_tag(abi::CUgraph graph, abi::CUgraphNode node);
struct tag_match {
  abi::CUgraphNode node = nullptr;  // one of them
  std::size_t node_count = 0;
};
[[nodiscard]] tag_match find_tag(abi::CUgraph graph, std::string_view tag);
// All of a graph, at some time. Its nodes may be gone later, and their handles others'.
struct tag_list {
  abi::CUgraph graph = nullptr;
  unsigned long long metadata_id = 0;  // the number of the graph's notes
  unsigned long long last_id = 0;      // the last number that there was of any notes
  std::vector<std::pair<std::string, abi::CUgraphNode>> tags;
};
[[nodiscard]] tag_list get_tags(abi::CUgraph graph);
[[nodiscard]] bool is_present(const tag_list& of, abi::CUgraphNode node) noexcept;

// Is it a node that weir has added to the graph, or has notes on, and not taken out?
[[nodiscard]] bool is_known_node(abi::CUgraph graph, abi::CUgraphNode node) noexcept;

// The graph that has notes on the node; null if none has. For texts.
[[nodiscard]] abi::CUgraph find_graph_of(abi::CUgraphNode node);

// The lines that added nodes by hand, for pictures. The file without its folders, kept here: what
// the caller named it with may go, with the library that it is a part of.
struct node_call_site {
  abi::CUgraphNode node = nullptr;
  const char* file = "";
  unsigned line = 0;
};
// Takes the memory for one more, before the node is made, and opens the book. Gives what
// set_call_site() has to be given, with the node.
[[nodiscard]] node_call_site reserve_call_site(abi::CUgraph graph, call_site at);
// The node was just made. What was noted of another one that had its handle goes; gives the user
// objects that the graph had for that.
[[nodiscard]] std::vector<abi::CUuserObject> set_call_site(abi::CUgraph graph,
                                                           const node_call_site& site) noexcept;
// Of nodes that are there no more, too; of several of one node the last counts.
[[nodiscard]] std::vector<node_call_site> get_call_sites(abi::CUgraph graph);
void add_call_sites(abi::CUgraph graph, const std::vector<node_call_site>& sites);

// The user objects that a graph has for the parameters of a node, and what they hold; gives those
// before.
[[nodiscard]] std::vector<abi::CUuserObject> set_owners(abi::CUgraph graph, abi::CUgraphNode node,
                                                        std::vector<abi::CUuserObject> owners,
                                                        std::vector<keep_alive*> owned);
// Shares in what they hold: in as many as there are, of `shares`.
void get_owners(graph_node node, std::span<keep_alive_ref> shares) noexcept;

// The node is gone: what there was of it goes. Gives the user objects that the graph had for it.
[[nodiscard]] std::vector<abi::CUuserObject> erase_node_metadata(abi::CUgraph graph,
                                                                 abi::CUgraphNode node) noexcept;

}  // namespace weir::detail
