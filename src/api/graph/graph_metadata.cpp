// api/graph/graph_metadata.cpp - how long notes on a graph are kept.
#include "api/graph/graph_metadata.hpp"

#include "api/core/check.hpp"
#include "api/graph/graph_metadata_store.hpp"

#include <memory>
#include <utility>
#include <vector>

namespace weir::detail {
namespace {

// In a graph: ends the notes on it with the last that it leaves behind.
struct metadata_destructor {
  CUgraph graph;
  unsigned long long id;
};

void CUDA_CB destroy_metadata(void* data) {
  const std::unique_ptr<metadata_destructor> owned{static_cast<metadata_destructor*>(data)};
  if (in_forked_child()) return;
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
  const subject on = subject::graph(graph);
  const unsigned long long id = destructor->id;
  CUuserObject object = nullptr;
  check(driver().cuUserObjectCreate(&object, destructor.get(), &destroy_metadata, 1,
                                    CU_USER_OBJECT_NO_DESTRUCTOR_SYNC),
        "cuUserObjectCreate", on, at);
  static_cast<void>(destructor.release());
  if (const CUresult answer =
          driver().cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE);
      answer != CUDA_SUCCESS) {
    report_if_failed(driver().cuUserObjectRelease(object, 1), "cuUserObjectRelease", on);
    check(answer, "cuGraphRetainUserObject", on, at);
  }
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
    store->erase(graph);  // without memory to keep them
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

}  // namespace weir::detail
