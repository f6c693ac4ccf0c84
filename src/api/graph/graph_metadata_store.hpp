// api/graph/graph_metadata_store.hpp - all notes on graphs, by handle: what graph_book,
// node_metadata and graph_parts have in common.
#pragma once

#include "api/graph/graph_parts.hpp"
#include "api/graph/node_metadata.hpp"
#include "driver/table.hpp"

#include <list>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace weir::detail {

struct node_metadata {
  unsigned long long id = 0;  // of all that there ever were, books too
  std::string tag;
  std::vector<CUuserObject> owners;
  std::vector<keep_alive*> owned;  // what those hold
  conditional_metadata conditional;
};

// Maps and lists of which entries that were made before can be put in without memory.
using node_metadata_map = std::map<CUgraphNode, node_metadata>;

// The notes on one graph.
struct graph_metadata {
  unsigned long long id = 0;  // of all that there ever were
  node_metadata_map nodes;
  std::vector<node_call_site> sites;  // as they came
  CUgraph parent = nullptr;           // whose part it is, and of which node
  CUgraphNode node = nullptr;
  part_kind kind = part_kind::child;
  std::list<CUgraph> parts;
  bool lost = false;  // of a graph that is nobody's part
};

using graph_metadata_map = std::map<CUgraph, graph_metadata>;

struct graph_metadata_store {
  graph_metadata_map graphs;
  unsigned long long last_id = 0;

  // Null where there are no notes on the graph.
  [[nodiscard]] graph_metadata* find(CUgraph graph) noexcept {
    const auto found = graphs.find(graph);
    return found == graphs.end() ? nullptr : &found->second;
  }
  [[nodiscard]] bool is_part(CUgraph part, CUgraph of, CUgraphNode node) noexcept {
    const graph_metadata* const known = find(part);
    return known != nullptr && known->parent == of && known->node == node;
  }

  // The notes on a node; new ones if there are none.
  [[nodiscard]] node_metadata& metadata_of(graph_metadata& of, CUgraphNode node);

  // What there is of a node but where it was made. Gives the user objects that the graph had for
  // it.
  std::vector<CUuserObject> erase_node(graph_metadata& of, CUgraphNode node) noexcept;

  // Moves the notes on a graph and on its parts out.
  void extract(CUgraph graph, std::vector<graph_metadata_map::node_type>& out);
  // The same for good, without memory for it.
  void erase(CUgraph graph) noexcept;

  // After each change of how many books there are.
  void update_count() noexcept;

  // A file without its folders, in a copy of its own that stays.
  [[nodiscard]] const char* intern_file_name(const char* path);

 private:
  std::set<std::string, std::less<>> files_;  // that call sites name
  const char* last_file_ = "";
};

// The one library, which nobody else has meanwhile. The driver is not called meanwhile, either: it
// may call back.
class locked_metadata_store {
 public:
  locked_metadata_store();
  graph_metadata_store* operator->() const noexcept { return &store_; }
  graph_metadata_store& operator*() const noexcept { return store_; }

 private:
  graph_metadata_store& store_;
  std::lock_guard<std::mutex> lock_;
};

}  // namespace weir::detail
