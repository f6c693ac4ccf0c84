// api/graph_book.cpp - the notes, by handle.
#include "api/graph_book.hpp"

#include "api/check.hpp"
#include "api/never_destroyed.hpp"

#include <algorithm>
#include <cstring>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <set>

namespace weir::detail {
namespace {

struct node_notes {
  std::string tag;
  std::vector<CUuserObject> owners;
  noted_conditional conditional;
};

// Maps and lists of which entries that were made before can be put in without memory.
using notes_by_node = std::map<CUgraphNode, node_notes>;

struct book {
  unsigned long long number = 0;  // of all that there ever were
  notes_by_node nodes;
  std::vector<node_site> sites;  // as they came
  CUgraph whole = nullptr;       // whose part it is, and of which node
  CUgraphNode node = nullptr;
  part_kind kind = part_kind::child;
  std::list<CUgraph> parts;
};

using books = std::map<CUgraph, book>;

struct library {
  std::mutex lock;
  books all;
  unsigned long long last_number = 0;
  std::set<std::string, std::less<>> files;  // that call sites name, for good

  const char* last_file = "";

  // The file's own copy of the name. Mostly it is the last one.
  const char* file_named(const char* path) {
    const char* const slash = std::strrchr(path, '/');
    const char* const name = slash == nullptr ? path : slash + 1;
    if (std::strcmp(name, last_file) == 0) return last_file;
    const auto known = files.find(std::string_view{name});
    last_file = known != files.end() ? known->c_str() : files.emplace(name).first->c_str();
    return last_file;
  }

  book* find(CUgraph graph) noexcept {
    const auto found = all.find(graph);
    return found == all.end() ? nullptr : &found->second;
  }
  [[nodiscard]] bool is_part(CUgraph part, CUgraph of, CUgraphNode node) noexcept {
    const book* const known = find(part);
    return known != nullptr && known->whole == of && known->node == node;
  }
  // What there is of a node but where it was made. Gives the user objects that the graph had for it.
  std::vector<CUuserObject> forget(book& of, CUgraphNode node) noexcept {
    for (auto next = of.parts.begin(); next != of.parts.end();) {
      const CUgraph part = *next++;
      if (find(part)->node == node) drop(part);
    }
    std::vector<CUuserObject> owners;
    if (const auto notes = of.nodes.find(node); notes != of.nodes.end()) {
      owners = std::move(notes->second.owners);
      of.nodes.erase(notes);
    }
    count();
    return owners;
  }
  void count() noexcept { graphs_noted.store(static_cast<int>(all.size()), std::memory_order_relaxed); }

  // Moves the notes on a graph and on its parts out.
  void take(CUgraph graph, std::vector<books::node_type>& out) {
    books::node_type taken = all.extract(graph);
    if (taken.empty()) return;
    out.push_back(std::move(taken));
    for (const CUgraph part : std::list{out.back().mapped().parts}) take(part, out);
  }

  // The same for good, without memory for it.
  void drop(CUgraph graph) noexcept {
    const books::node_type gone = all.extract(graph);
    if (gone.empty()) return;
    if (book* const whole = find(gone.mapped().whole)) std::erase(whole->parts, graph);
    for (const CUgraph part : gone.mapped().parts) drop(part);
  }
};

library& the_library() {
  static never_destroyed<library> the_one;
  return *the_one;
}

// In a graph: ends the notes on it with the last that it leaves behind.
struct witness {
  CUgraph graph;
  unsigned long long number;
};

void CUDA_CB end_notes(void* data) {
  const std::unique_ptr<witness> mine{static_cast<witness*>(data)};
  if (in_forked_child()) return;
  library& in = the_library();
  const std::lock_guard lock{in.lock};
  const book* const found = in.find(mine->graph);
  if (found == nullptr || found->number != mine->number) return;
  in.drop(mine->graph);
  in.count();
}

}  // namespace

void open_book(CUgraph graph, call_site at) {
  library& in = the_library();
  auto made = std::make_unique<witness>(witness{graph, 0});
  {
    const std::lock_guard lock{in.lock};
    if (in.find(graph) != nullptr) return;
    made->number = ++in.last_number;
  }
  const subject on = subject::graph(graph);
  const unsigned long long number = made->number;
  CUuserObject object = nullptr;
  check(driver().cuUserObjectCreate(&object, made.get(), &end_notes, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC),
        "cuUserObjectCreate", on, at);
  static_cast<void>(made.release());
  if (const CUresult answer = driver().cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE);
      answer != CUDA_SUCCESS) {
    check_unraised(driver().cuUserObjectRelease(object, 1), "cuUserObjectRelease", on);
    check(answer, "cuGraphRetainUserObject", on, at);
  }
  const std::lock_guard lock{in.lock};
  in.all.try_emplace(graph).first->second.number = number;
  in.count();
}

void drop_notes(CUgraph graph) noexcept {
  library& in = the_library();
  const std::lock_guard lock{in.lock};
  in.drop(graph);
  in.count();
}

struct leaving_notes::taken_notes {
  std::vector<books::node_type> each;
};

leaving_notes::leaving_notes(CUgraph graph) noexcept {
  if (!any_graph_noted()) return;
  library& in = the_library();
  const std::lock_guard lock{in.lock};
  try {
    auto taken = std::make_unique<taken_notes>();
    in.take(graph, taken->each);
    taken_ = taken.release();
  } catch (...) {
    in.drop(graph);  // without memory to keep them
  }
  in.count();
}

leaving_notes::~leaving_notes() { delete taken_; }

void leaving_notes::kept() noexcept {
  if (taken_ == nullptr) return;
  library& in = the_library();
  const std::lock_guard lock{in.lock};
  for (books::node_type& each : taken_->each) {
    if (!each.empty()) in.all.insert(std::move(each));
  }
  in.count();
}

void note_tag(CUgraph graph, CUgraphNode node, std::string_view tag) {
  library& in = the_library();
  const std::lock_guard lock{in.lock};
  book* const found = in.find(graph);
  if (found == nullptr) return;
  if (!tag.empty()) {
    found->nodes[node].tag = tag;
  } else if (const auto notes = found->nodes.find(node); notes != found->nodes.end()) {
    notes->second.tag.clear();
  }
}

std::string noted_tag(CUgraph graph, CUgraphNode node) {
  if (!any_graph_noted()) return {};
  library& in = the_library();
  const std::lock_guard lock{in.lock};
  const book* const found = in.find(graph);
  if (found == nullptr) return {};
  const auto notes = found->nodes.find(node);
  return notes == found->nodes.end() ? std::string{} : notes->second.tag;
}

found_tag find_tag(CUgraph graph, std::string_view tag) {
  found_tag result;
  if (!any_graph_noted() || tag.empty()) return result;
  library& in = the_library();
  const std::lock_guard lock{in.lock};
  const book* const found = in.find(graph);
  if (found == nullptr) return result;
  for (const auto& [node, notes] : found->nodes) {
    if (notes.tag != tag) continue;
    result.node = node;
    ++result.count;
  }
  return result;
}

tag_list noted_tags(CUgraph graph) {
  tag_list tags;
  if (!any_graph_noted()) return tags;
  library& in = the_library();
  const std::lock_guard lock{in.lock};
  const book* const found = in.find(graph);
  if (found == nullptr) return tags;
  for (const auto& [node, notes] : found->nodes) {
    if (!notes.tag.empty()) tags.emplace_back(notes.tag, node);
  }
  return tags;
}

CUgraph noted_graph_of(CUgraphNode node) {
  if (!any_graph_noted()) return nullptr;
  library& in = the_library();
  const std::lock_guard lock{in.lock};
  const auto has_it = [&](const auto& each) { return each.second.nodes.contains(node); };
  const auto found = std::ranges::find_if(in.all, has_it);
  return found == in.all.end() ? nullptr : found->first;
}

std::vector<CUuserObject> note_owners(CUgraph graph, CUgraphNode node, std::vector<CUuserObject> owners) {
  if (owners.empty() && !any_graph_noted()) return {};
  library& in = the_library();
  const std::lock_guard lock{in.lock};
  book* const found = in.find(graph);
  if (found == nullptr) return {};
  if (owners.empty() && !found->nodes.contains(node)) return {};
  return std::exchange(found->nodes[node].owners, std::move(owners));
}

node_site reserve_site(CUgraph graph, call_site at) {
  node_site site{nullptr, "", at.line()};
  if (in_forked_child()) return site;
  library& in = the_library();
  const auto made_room = [&] {
    const std::lock_guard lock{in.lock};
    book* const found = in.find(graph);
    if (found == nullptr) return false;
    if (found->sites.size() == found->sites.capacity()) found->sites.reserve(2 * found->sites.size() + 4);
    site.file = in.file_named(at.file_name());
    return true;
  };
  if (made_room()) return site;
  open_book(graph, at);
  made_room();
  return site;
}

std::vector<CUuserObject> note_site(CUgraph graph, const node_site& site) noexcept {
  if (!any_graph_noted()) return {};
  library& in = the_library();
  const std::lock_guard lock{in.lock};
  book* const found = in.find(graph);
  if (found == nullptr) return {};
  if (found->sites.size() < found->sites.capacity()) found->sites.push_back(site);
  return in.forget(*found, site.node);
}

std::vector<node_site> noted_sites(CUgraph graph) {
  if (!any_graph_noted()) return {};
  library& in = the_library();
  const std::lock_guard lock{in.lock};
  const book* const found = in.find(graph);
  return found == nullptr ? std::vector<node_site>{} : found->sites;
}

void note_sites(CUgraph graph, const std::vector<node_site>& sites) {
  library& in = the_library();
  const std::lock_guard lock{in.lock};
  if (book* const found = in.find(graph)) found->sites.insert(found->sites.end(), sites.begin(), sites.end());
}

std::vector<CUuserObject> forget_node(CUgraph graph, CUgraphNode node) noexcept {
  if (!any_graph_noted()) return {};
  library& in = the_library();
  const std::lock_guard lock{in.lock};
  book* const found = in.find(graph);
  if (found == nullptr) return {};
  std::erase_if(found->sites, [&](const node_site& site) { return site.node == node; });
  return in.forget(*found, node);
}

void note_part(CUgraph part, CUgraph of, CUgraphNode node, part_kind kind) {
  library& in = the_library();
  {
    const std::lock_guard lock{in.lock};
    if (in.is_part(part, of, node)) return;
  }
  room_for_parts{1}.note(part, of, node, kind);
}

struct room_for_parts::memory {
  books entries;  // as many as there are parts, under keys that do not matter
  std::list<CUgraph> places;
  notes_by_node node;  // one
};

room_for_parts::room_for_parts(std::size_t parts) : memory_{std::make_unique<memory>()} {
  memory_->places.resize(parts);
  for (std::size_t i = 0; i < parts; ++i) memory_->entries[reinterpret_cast<CUgraph>(i)];
  memory_->node.try_emplace(nullptr).first->second.conditional.bodies.reserve(parts);
}

room_for_parts::~room_for_parts() = default;

void room_for_parts::note(CUgraph part, CUgraph of, CUgraphNode node, part_kind kind) noexcept {
  library& in = the_library();
  const std::lock_guard lock{in.lock};
  if (in.is_part(part, of, node)) return;
  in.drop(part);
  put(part, of, node, kind);
}

void room_for_parts::note_moved(CUgraph part, CUgraph of, CUgraphNode node) noexcept {
  const std::lock_guard lock{the_library().lock};
  put(part, of, node, part_kind::child);
}

// With the lock.
void room_for_parts::put(CUgraph part, CUgraph of, CUgraphNode node, part_kind kind) noexcept {
  library& in = the_library();
  book* const whole = in.find(of);
  if (whole == nullptr) return;
  book* noted = in.find(part);
  if (noted == nullptr) {
    books::node_type entry = memory_->entries.extract(memory_->entries.begin());
    entry.key() = part;
    noted = &in.all.insert(std::move(entry)).position->second;
    noted->number = ++in.last_number;
  }
  noted->whole = of;
  noted->node = node;
  noted->kind = kind;
  memory_->places.front() = part;
  whole->parts.splice(whole->parts.end(), memory_->places, memory_->places.begin());
  in.count();
}

void room_for_parts::note_conditional(CUgraph graph, CUgraphNode node, unsigned type,
                                      std::span<const CUgraph> bodies) noexcept {
  library& in = the_library();
  const std::lock_guard lock{in.lock};
  book* const found = in.find(graph);
  if (found == nullptr) return;
  notes_by_node::node_type entry = memory_->node.extract(memory_->node.begin());
  entry.key() = node;
  noted_conditional& what = entry.mapped().conditional;
  what.type = type;
  what.bodies.assign(bodies.begin(), bodies.end());
  found->nodes.erase(node);
  found->nodes.insert(std::move(entry));
}

bool is_part_of(CUgraph part, CUgraph whole) noexcept {
  if (part == whole) return true;
  if (!any_graph_noted()) return false;
  library& in = the_library();
  const std::lock_guard lock{in.lock};
  for (const book* b = in.find(part); b != nullptr && b->whole != nullptr; b = in.find(b->whole)) {
    if (b->whole == whole) return true;
  }
  return false;
}

bool is_in_body(CUgraph graph) noexcept {
  if (!any_graph_noted()) return false;
  library& in = the_library();
  const std::lock_guard lock{in.lock};
  for (const book* b = in.find(graph); b != nullptr && b->whole != nullptr; b = in.find(b->whole)) {
    if (b->kind == part_kind::body) return true;
  }
  return false;
}

CUgraph root_of(CUgraph graph) noexcept {
  if (!any_graph_noted()) return graph;
  library& in = the_library();
  const std::lock_guard lock{in.lock};
  for (const book* b = in.find(graph); b != nullptr && b->whole != nullptr; b = in.find(graph)) graph = b->whole;
  return graph;
}

std::optional<noted_conditional> conditional_noted(CUgraph graph, CUgraphNode node) {
  if (!any_graph_noted()) return {};
  library& in = the_library();
  const std::lock_guard lock{in.lock};
  const book* const found = in.find(graph);
  if (found == nullptr) return {};
  const auto notes = found->nodes.find(node);
  if (notes == found->nodes.end() || notes->second.conditional.bodies.empty()) return {};
  return notes->second.conditional;
}

std::vector<std::pair<CUgraphNode, CUgraph>> noted_children(CUgraph graph) {
  std::vector<std::pair<CUgraphNode, CUgraph>> children;
  if (!any_graph_noted()) return children;
  library& in = the_library();
  const std::lock_guard lock{in.lock};
  const book* const found = in.find(graph);
  if (found == nullptr) return children;
  for (const CUgraph part : found->parts) {
    const book& noted = *in.find(part);
    if (noted.kind == part_kind::child) children.emplace_back(noted.node, part);
  }
  return children;
}

}  // namespace weir::detail
