// SPDX-License-Identifier: Apache-2.0
// api/graph/exec_state.hpp - the tags and parameter owners of an executable graph.
#pragma once

#include "api/device/green_state.hpp"
#include "api/graph/node_metadata.hpp"
#include "api/memory/captured_memory.hpp"
#include "api/memory/captured_uses.hpp"
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

// The tags of an executable, its green context, its captured memory, and the owners: objects that
// its node parameters use. Created only if there is something to store.
//
// An owner is released when the launches that may use it are done. The driver runs the launches of
// one executable one after another. Therefore it suffices to wait for the launches since the
// previous release of owners. If there were none, the wait is for the launches before that release.
//
// Thread safety: launches may be tracked from any thread. Other members need external
// synchronization.
class exec_state {
 public:
  exec_state() = default;
  exec_state(const exec_state&) = delete;
  exec_state& operator=(const exec_state&) = delete;
  // Called on any thread after the executable was destroyed. The owners are released when all
  // launches so far are done.
  ~exec_state() { retire_all(); }

  tag_list tags;

  // The green context in which the executable was instantiated. The reference that the source graph
  // holds does not suffice, because an update of the executable replaces it.
  green_state_ref green;

  // The owners of the captured memory that the executable allocates. Released before the executable
  // is destroyed.
  captured_memory_owners captured;

  // The memory of weir that the nodes use.
  std::vector<memory_reference> used;

  [[nodiscard]] bool has_owners() const noexcept { return !owners_.empty(); }
  // Returns true if launches have to be tracked.
  [[nodiscard]] bool tracks_launches() const noexcept {
    return has_owners() || !captured.empty() || !used.empty();
  }

  // Called before a launch in `stream`. Returns true if weir does not own the stream: then the
  // caller must call mark_launch_end() after the launch, which records events.
  [[nodiscard]] bool track_launch(stream_ref stream, call_site at);
  void mark_launch_end(stream_ref stream, call_site at);

  // Stores the new owners of the node and makes room for them. From now on, launches use `memory`,
  // too. Called before set(), which is noexcept.
  void reserve(abi::CUgraphNode node, owner_list owners, const std::vector<region>& memory);
  // Called after the driver has set the node's parameters. Makes the reserved owners the node's
  // owners and releases the previous ones.
  void set(abi::CUgraphNode node) noexcept;
  // Releases the owners of reserve(), if set() was not called because the driver has refused the
  // parameters.
  void discard_pending() noexcept { pending_owners_.clear(); }
  // Releases all owners, because the executable no longer uses them.
  void retire_all() noexcept;

 private:
  using owners = std::vector<keep_alive_ref>;
  // Releases these owners when the launches that may use them are done.
  void retire(owners&& retired) noexcept;

  std::unordered_map<abi::CUgraphNode, owners> owners_;
  owners pending_owners_;                           // from reserve(), for set()
  std::shared_ptr<pending_uses> recent_launches_;   // launches since owners were last released
  std::shared_ptr<pending_uses> earlier_launches_;  // the launches before those
  std::shared_ptr<pending_uses> spare_uses_;        // empty list, so that retire() cannot fail
  std::atomic<bool> launched_{false};               // true if `recent_launches_` has an entry
};

}  // namespace weir::detail
