// api/graph/graph_library.hpp - all notes on graphs, by handle: what graph_book, node_notes and graph_parts have in common.
#pragma once

#include "api/graph/graph_parts.hpp"
#include "api/graph/node_notes.hpp"
#include "driver/table.hpp"

#include <list>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace weir::detail {

struct node_notes {
  unsigned long long number = 0;  // of all that there ever were, books too
  std::string tag;
  std::vector<CUuserObject> owners;
  std::vector<shared_owner*> owned;  // what those hold
  noted_conditional conditional;
};

// Maps and lists of which entries that were made before can be put in without memory.
using notes_by_node = std::map<CUgraphNode, node_notes>;

// The notes on one graph.
struct book {
  unsigned long long number = 0;  // of all that there ever were
  notes_by_node nodes;
  std::vector<node_site> sites;  // as they came
  CUgraph whole = nullptr;       // whose part it is, and of which node
  CUgraphNode node = nullptr;
  part_kind kind = part_kind::child;
  std::list<CUgraph> parts;
  bool lost = false;  // of a graph that is nobody's part
};

using books = std::map<CUgraph, book>;

struct library {
  books all;
  unsigned long long last_number = 0;

  // Null where there are no notes on the graph.
  [[nodiscard]] book* find(CUgraph graph) noexcept {
    const auto found = all.find(graph);
    return found == all.end() ? nullptr : &found->second;
  }
  [[nodiscard]] bool is_part(CUgraph part, CUgraph of, CUgraphNode node) noexcept {
    const book* const known = find(part);
    return known != nullptr && known->whole == of && known->node == node;
  }

  // The notes on a node; new ones if there are none.
  [[nodiscard]] node_notes& notes_on(book& of, CUgraphNode node);

  // What there is of a node but where it was made. Gives the user objects that the graph had for it.
  std::vector<CUuserObject> forget(book& of, CUgraphNode node) noexcept;

  // Moves the notes on a graph and on its parts out.
  void take(CUgraph graph, std::vector<books::node_type>& out);
  // The same for good, without memory for it.
  void drop(CUgraph graph) noexcept;

  // After each change of how many books there are.
  void count() noexcept;

  // A file without its folders, in a copy of its own that stays.
  [[nodiscard]] const char* file_named(const char* path);

 private:
  std::set<std::string, std::less<>> files_;  // that call sites name
  const char* last_file_ = "";
};

// The one library, which nobody else has meanwhile. The driver is not called meanwhile, either: it may call back.
class locked_library {
 public:
  locked_library();
  library* operator->() const noexcept { return &all_; }
  library& operator*() const noexcept { return all_; }

 private:
  library& all_;
  std::lock_guard<std::mutex> lock_;
};

}  // namespace weir::detail
