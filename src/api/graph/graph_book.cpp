// api/graph/graph_book.cpp - how long notes on a graph are kept.
#include "api/graph/graph_book.hpp"

#include "api/core/check.hpp"
#include "api/graph/graph_library.hpp"

#include <memory>
#include <utility>
#include <vector>

namespace weir::detail {
namespace {

// In a graph: ends the notes on it with the last that it leaves behind.
struct witness {
  CUgraph graph;
  unsigned long long number;
};

void CUDA_CB end_notes(void* data) {
  const std::unique_ptr<witness> mine{static_cast<witness*>(data)};
  if (in_forked_child()) return;
  const locked_library in;
  const book* const found = in->find(mine->graph);
  if (found == nullptr || found->number != mine->number) return;
  in->drop(mine->graph);
  in->count();
}

}  // namespace

void open_book(CUgraph graph, call_site at) {
  auto made = std::make_unique<witness>(witness{graph, 0});
  {
    const locked_library in;
    if (in->find(graph) != nullptr) return;
    made->number = ++in->last_number;
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
  const locked_library in;
  in->all.try_emplace(graph).first->second.number = number;
  in->count();
}

void drop_notes(CUgraph graph) noexcept {
  const locked_library in;
  in->drop(graph);
  in->count();
}

struct leaving_notes::taken_notes {
  std::vector<books::node_type> each;
};

leaving_notes::leaving_notes(CUgraph graph) noexcept {
  if (!any_graph_noted()) return;
  const locked_library in;
  try {
    auto taken = std::make_unique<taken_notes>();
    in->take(graph, taken->each);
    taken_ = taken.release();
  } catch (...) {
    in->drop(graph);  // without memory to keep them
  }
  in->count();
}

leaving_notes::~leaving_notes() { delete taken_; }

void leaving_notes::kept() noexcept {
  if (taken_ == nullptr) return;
  const locked_library in;
  for (books::node_type& each : taken_->each) {
    if (!each.empty()) in->all.insert(std::move(each));
  }
  in->count();
}

}  // namespace weir::detail
