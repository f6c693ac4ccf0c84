// api/graph/exec_state.hpp - what weir remembers of an executable graph: tags, and owners of
// parameters that were set.
#pragma once

#include "api/device/green_state.hpp"
#include "api/graph/node_metadata.hpp"
#include "api/memory/captured_memory.hpp"
#include "api/memory/pending_uses.hpp"
#include "driver/abi.hpp"

#include <weir/detail/keep_alive.hpp>
#include <weir/graph/nodes/graph_node.hpp>
#include <weir/stream/stream.hpp>

#include <atomic>
#include <memory>
#include <unordered_map>
#include <vector>

namespace weir::detail {

// Made when there is something to remember. Thread safety: launches from any thread; the rest as
// any object.
//
// Owners outlive the launches that may use them. Those of one executable run one after the other,
// so it takes those since owners went last, or, if there were none, those before.
class exec_state {
 public:
  exec_state() = default;
  exec_state(const exec_state&) = delete;
  exec_state& operator=(const exec_state&) = delete;

  tag_list tags;

  // The green context that the executable was made in, of which it takes over the share: it may
  // outlive the graph's, which an update replaces.
  void keep_green_context(green_state& share) noexcept { green_ = &share; }

  // Gives it up, from any thread, behind the end of the executable: owners go when the launches so
  // far are done.
  static void end(exec_state* state) noexcept;

  // What it allocates of captures' memory: of its graph's, and given up before its end.
  captured_memory_use captured;

  // Are owners kept?
  [[nodiscard]] bool has_owners() const noexcept { return !owners_.empty(); }
  // Does a launch have to be noted?
  [[nodiscard]] bool tracks_launches() const noexcept { return has_owners() || !captured.empty(); }

  // Around a launch: before it the stream is noted, and marked after it, if the answer says so.
  [[nodiscard]] bool track_launch(stream_ref stream, call_site at);
  void mark_launch_end(stream_ref stream, call_site at) { current_->record(stream.get(), at); }

  // Makes room for owners of that node, so that set() cannot fail.
  void reserve(abi::CUgraphNode node, owner_list owners);
  // The node has these now; those before go.
  void set(abi::CUgraphNode node) noexcept;
  // It is not set.
  void discard_pending() noexcept { pending_owners_.clear(); }
  // All of them go: the executable uses none of them any more.
  void retire_all() noexcept;

 private:
  using owners = std::vector<keep_alive_ref>;
  void retire(owners&& retired) noexcept;
  ~exec_state();

  std::unordered_map<abi::CUgraphNode, owners> owners_;
  owners pending_owners_;                   // what set() will put in place
  std::shared_ptr<pending_uses> current_;   // of the launches since owners went last
  std::shared_ptr<pending_uses> previous_;  // of those before
  std::shared_ptr<pending_uses> spare_;
  std::atomic<bool> launched_{false};  // is there anything in the current list?
  green_state* green_ = nullptr;
};

}  // namespace weir::detail
