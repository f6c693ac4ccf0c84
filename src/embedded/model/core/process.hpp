// SPDX-License-Identifier: Apache-2.0
// model/core/process.hpp - the driver's state: initialisation, devices, and tables of handles.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "driver/abi.hpp"
#include "embedded/model/core/context.hpp"
#include "embedded/model/core/device.hpp"
#include "embedded/model/core/device_resource.hpp"
#include "embedded/model/core/handle_table.hpp"
#include "embedded/model/core/user_object.hpp"
#include "embedded/model/graph/conditional.hpp"
#include "embedded/model/graph/graph.hpp"
#include "embedded/model/graph/graph_exec.hpp"
#include "embedded/model/ipc/external_memory.hpp"
#include "embedded/model/ipc/external_semaphore.hpp"
#include "embedded/model/kernel/function.hpp"
#include "embedded/model/kernel/library.hpp"
#include "embedded/model/kernel/module.hpp"
#include "embedded/model/memory/array.hpp"
#include "embedded/model/memory/physical_memory.hpp"
#include "embedded/model/stream/event.hpp"
#include "embedded/model/stream/stream.hpp"

namespace weir::embedded::model {

// The state of the driver. There is one per process; it exists from the start and is never
// destroyed, because destructors of static objects may still call the driver.
//
// Thread safety: all members may be called from any thread.
class process {
 public:
  // cuInit: reads the environment and creates the devices. May be called again.
  //
  // `visible`: the value of CUDA_VISIBLE_DEVICES; null to show all devices. Returns
  // CUDA_ERROR_NO_DEVICE if it leaves no device.
  //
  // Returns CUDA_ERROR_INVALID_VALUE for an invalid value in the environment, and writes a line to
  // stderr. Returns CUDA_ERROR_NOT_INITIALIZED in the child of a fork, where the driver cannot be
  // used, as with a GPU's driver. Throws std::bad_alloc.
  abi::CUresult initialise(const char* visible = nullptr);

  [[nodiscard]] bool initialised() const noexcept {
    return initialised_.load(std::memory_order_acquire);
  }

  // Returns the device with this ordinal, or null.
  [[nodiscard]] device* find_device(int ordinal) const noexcept {
    return ordinal >= 0 && ordinal < device_count()
               ? devices_[static_cast<std::size_t>(ordinal)].get()
               : nullptr;
  }
  // Returns the device with this number (device::number()), or null if the process does not see it.
  [[nodiscard]] device* find_device_by_number(int number) const noexcept {
    for (const std::unique_ptr<device>& candidate : devices_) {
      if (candidate->number() == number) return candidate.get();
    }
    return nullptr;
  }
  [[nodiscard]] int device_count() const noexcept { return static_cast<int>(devices_.size()); }
  [[nodiscard]] bool has_several_devices() const noexcept { return devices_.size() > 1; }

  handle_table<context, handle_kind::context> contexts;  // contexts are never retired (context.hpp)
  handle_table<stream, handle_kind::stream> streams;
  handle_table<event, handle_kind::event> events;
  handle_table<graph, handle_kind::graph> graphs;
  handle_table<graph_node, handle_kind::graph_node> graph_nodes;
  handle_table<graph_exec, handle_kind::graph_exec> graph_execs;
  handle_table<condition, handle_kind::condition> conditions;
  handle_table<user_object, handle_kind::user_object> user_objects;
  handle_table<array, handle_kind::array> arrays;
  handle_table<physical_memory, handle_kind::physical_memory> physical_memories;
  handle_table<external_memory, handle_kind::external_memory> external_memories;
  handle_table<external_semaphore, handle_kind::external_semaphore> external_semaphores;
  // Never retired: CUDA has no call that destroys them.
  handle_table<resource_desc, handle_kind::resource_desc> resource_descs;

  handle_table<loaded_module, handle_kind::module> modules;
  handle_table<function, handle_kind::function> functions;
  handle_table<library, handle_kind::library> libraries;
  handle_table<library_kernel, handle_kind::library_kernel> library_kernels;

  // Guards modules and libraries. A thread that holds it neither waits for work nor calls the
  // host's loader.
  std::mutex modules_mutex;

  // Guards all graphs and captures with one lock: a graph is normally built by one thread, and a
  // capture connects many streams. Never held while work is submitted.
  std::mutex graphs_mutex;
  std::size_t graphs_made = 0;  // the number of graphs made so far; guarded by graphs_mutex

 private:
  static void disable_in_child() noexcept;

  std::mutex initialise_mutex_;
  std::atomic<bool> initialised_{false};
  std::atomic<bool> forked_{false};
  // Complete before initialised_ is set, and not changed afterwards.
  std::vector<std::unique_ptr<device>> devices_;
};

namespace detail {
// Storage whose value is never destroyed.
union process_storage {
  constexpr process_storage() noexcept : value{} {}
  ~process_storage() {}  // NOLINT: that is the point
  process value;
};
extern constinit process_storage process_instance;
}  // namespace detail

inline process& this_process() noexcept { return detail::process_instance.value; }

}  // namespace weir::embedded::model
