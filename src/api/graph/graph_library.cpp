// api/graph/graph_library.cpp - all notes on graphs, by handle.
#include "api/graph/graph_library.hpp"

#include "api/graph/graph_book.hpp"
#include "api/core/never_destroyed.hpp"

#include <atomic>
#include <cstring>
#include <string_view>
#include <utility>

namespace weir::detail {
namespace {

struct guarded_library {
  std::mutex lock;
  library all;
};

guarded_library& the_library() {
  static never_destroyed<guarded_library> the_one;
  return *the_one;
}

}  // namespace

locked_library::locked_library() : all_{the_library().all}, lock_{the_library().lock} {}

node_notes& library::notes_on(book& of, CUgraphNode node) {
  const auto [notes, is_new] = of.nodes.try_emplace(node);
  if (is_new) notes->second.number = ++last_number;
  return notes->second;
}

std::vector<CUuserObject> library::forget(book& of, CUgraphNode node) noexcept {
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

void library::take(CUgraph graph, std::vector<books::node_type>& out) {
  books::node_type taken = all.extract(graph);
  if (taken.empty()) return;
  out.push_back(std::move(taken));
  for (const CUgraph part : std::list{out.back().mapped().parts}) take(part, out);
}

void library::drop(CUgraph graph) noexcept {
  const books::node_type gone = all.extract(graph);
  if (gone.empty()) return;
  if (gone.mapped().lost) graphs_lost.fetch_sub(1, std::memory_order_relaxed);
  if (book* const whole = find(gone.mapped().whole)) std::erase(whole->parts, graph);
  for (const CUgraph part : gone.mapped().parts) drop(part);
}

void library::count() noexcept { graphs_noted.store(static_cast<int>(all.size()), std::memory_order_relaxed); }

const char* library::file_named(const char* path) {
  const char* const slash = std::strrchr(path, '/');
  const char* const name = slash == nullptr ? path : slash + 1;
  if (std::strcmp(name, last_file_) == 0) return last_file_;  // mostly
  const auto known = files_.find(std::string_view{name});
  last_file_ = known != files_.end() ? known->c_str() : files_.emplace(name).first->c_str();
  return last_file_;
}

}  // namespace weir::detail
