// SPDX-License-Identifier: Apache-2.0
// api/graph/exec_state.hpp - the tags and parameter owners of an executable graph.
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

// Created when there is an owner or a tag to store. Owns the objects that the executable's node
// parameters use.
//
// An owner is released when the launches that may use it are done. The launches of one executable
// run one after another. Therefore only the most recent launches matter: those since the previous
// release of owners or, if there were none, the launches before that release.
//
// Thread safety: launches may be tracked from any thread. Other members need external
// synchronization.
class exec_state {
 public:
  exec_state() = default;
  exec_state(const exec_state&) = delete;
  exec_state& operator=(const exec_state&) = delete;

  tag_list tags;

  // Takes over a reference to the green context in which the executable was instantiated. The
  // graph's own reference does not suffice, because an update replaces it.
  void keep_green_context(green_state& share) noexcept { green_ = &share; }

  // Destroys the state after the executable was destroyed, from any thread. The owners are released
  // when all launches so far are done.
  static void end(exec_state* state) noexcept;

  // The memory of captures that the executable allocates, taken from its graph. Released before the
  // executable is destroyed.
  captured_memory_use captured;

  [[nodiscard]] bool has_owners() const noexcept { return !owners_.empty(); }
  // Returns true if launches have to be tracked.
  [[nodiscard]] bool tracks_launches() const noexcept { return has_owners() || !captured.empty(); }

  // Called before a launch. If it returns true, mark_launch_end() has to be called after the
  // launch.
  [[nodiscard]] bool track_launch(stream_ref stream, call_site at);
  void mark_launch_end(stream_ref stream, call_site at) {
    recent_launches_->record(stream.get(), at);
  }

  // Makes room for the owners of the node, so that set() cannot fail.
  void reserve(abi::CUgraphNode node, owner_list owners);
  // Installs the reserved owners and releases the node's previous ones.
  void set(abi::CUgraphNode node) noexcept;
  // Called if the parameters were not set.
  void discard_pending() noexcept { pending_owners_.clear(); }
  // Releases all owners, because the executable no longer uses them.
  void retire_all() noexcept;

 private:
  using owners = std::vector<keep_alive_ref>;
  void retire(owners&& retired) noexcept;
  ~exec_state();

  std::unordered_map<abi::CUgraphNode, owners> owners_;
  owners pending_owners_;                           // set() installs these
  std::shared_ptr<pending_uses> recent_launches_;   // launches since owners were last released
  std::shared_ptr<pending_uses> earlier_launches_;  // launches before
  std::shared_ptr<pending_uses> spare_uses_;
  std::atomic<bool> launched_{false};  // true if `recent_launches_` has an entry
  green_state* green_ = nullptr;
};

}  // namespace weir::detail
