// model/process.hpp - the driver's state: whether it is initialised, its devices, and the tables of
// its handles.
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

// One per process, there from the start and never destroyed: destructors of static objects may
// still call the driver.
//
// Thread safety: all members, from any thread.
class process {
 public:
  // cuInit: reads the environment and makes the devices. May be called again. CUDA_SUCCESS, or why
  // not: a bad value in the environment is CUDA_ERROR_INVALID_VALUE and a line on stderr. In the
  // child of a fork the driver is as good as gone, as a GPU's is: CUDA_ERROR_NOT_INITIALIZED.
  // Throws std::bad_alloc.
  abi::CUresult initialise();

  [[nodiscard]] bool initialised() const noexcept {
    return initialised_.load(std::memory_order_acquire);
  }

  // The device of an ordinal; null where there is none.
  [[nodiscard]] device* find_device(int ordinal) const noexcept {
    return ordinal >= 0 && ordinal < device_count()
               ? devices_[static_cast<std::size_t>(ordinal)].get()
               : nullptr;
  }
  [[nodiscard]] int device_count() const noexcept { return static_cast<int>(devices_.size()); }
  [[nodiscard]] bool has_several_devices() const noexcept { return has_several_devices_; }

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
  handle_table<resource_desc, handle_kind::resource_desc>
      resource_descs;  // never retired, as CUDA's are not

  handle_table<loaded_module, handle_kind::module> modules;
  handle_table<function, handle_kind::function> functions;
  handle_table<library, handle_kind::library> libraries;
  handle_table<library_kernel, handle_kind::library_kernel> library_kernels;

  // Guards modules and libraries, but for what the loader of the host does. Nothing is waited for
  // while it is held.
  std::mutex modules_mutex;

  // Guards all graphs and captures. Building a graph is a matter of one thread at a time anyhow,
  // and a capture ties many streams together. Never held while work is submitted.
  std::mutex graphs_mutex;

 private:
  static void disable_in_child() noexcept;

  std::mutex initialise_mutex_;
  std::atomic<bool> initialised_{false};
  std::atomic<bool> forked_{false};
  std::vector<std::unique_ptr<device>>
      devices_;  // this and the next: complete before initialised_ is set, unchanged since
  bool has_several_devices_ = false;
};

namespace detail {
// Storage whose contents have no end.
union process_storage {
  constexpr process_storage() noexcept : value{} {}
  ~process_storage() {}  // NOLINT: that is the point
  process value;
};
extern constinit process_storage process_instance;
}  // namespace detail

inline process& this_process() noexcept { return detail::process_instance.value; }

}  // namespace weir::embedded::model
