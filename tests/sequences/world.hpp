// SPDX-License-Identifier: Apache-2.0
// sequences/world.hpp - the objects of a sequence, and the process that it runs in.
#pragma once

#include "sequences/choice_source.hpp"
#include "sequences/driver_under_test.hpp"
#include "sequences/host_log.hpp"
#include "sequences/host_threads.hpp"
#include "sequences/transcript.hpp"

#include <array>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace weir::sequences {

// Which handles calls may use.
enum class handles {
  checked_only,  // only those that a GPU's driver checks: it crashes on others (rules.md, 24.1)
  any,           // also of destroyed objects, of other types, and numbers
};

// Host memory unknown to the driver until it is registered: whole pages, apart from each other.
struct host_page {
  static constexpr std::size_t bytes = 65536;
  std::unique_ptr<std::uint8_t, void (*)(void*)> memory;
};

// State shared by all sequences of a process. Its contexts are created once, because that is slow
// on a GPU.
struct process {
  explicit process(const driver_under_test& under_test, handles allowed);
  process(const process&) = delete;
  process& operator=(const process&) = delete;

  // Adds the log of a new sequence.
  host_log& new_log();

  static constexpr unsigned context_count = 2;
  static constexpr unsigned page_count = 3;

  driver_under_test driver;
  handles allowed;
  CUdevice device = 0;
  // the primary context, and one created by the process
  std::array<CUcontext, context_count> contexts{};
  std::array<unsigned, context_count> flags{};  // with which they were created
  std::vector<host_page> pages;
  host_page gate_page;
  CUdeviceptr gate_word =
      0;  // in that page, registered; it only grows, so that every wait for it ends
  volatile std::uint32_t* gate_word_on_host = nullptr;
  std::uint32_t gates = 0;
  std::deque<std::shared_ptr<host_log>>
      logs;  // of the latest sequences: an unfinished capture ends later
  host_threads threads;
};

inline constexpr int no_pending_work = -1;  // instead of a stream: no work is pending

struct stream_object {
  CUstream handle = nullptr;
  std::string name{};
  int context = -1;  // index into the process's contexts
  bool blocking = false, live = true;
  bool held = false;  // by the closed gate
};

struct event_object {
  CUevent handle = nullptr;
  std::string name{};
  int context = -1;
  bool live = true;
  bool held = false;  // recorded behind the closed gate
};

enum class memory { device, pitched, pinned, managed, pooled, page, registered };

struct block {
  memory kind = memory::device;
  std::string name{};
  CUdeviceptr address = 0;
  std::size_t size = 0;
  std::size_t pitch = 0;       // for pitched memory
  int page = -1;               // for host memory: its page's index
  bool read_only = false;      // for the device
  bool in_graph = false;       // used in a capture, whose graph may be launched at any time
  int last = no_pending_work;  // the number of the stream of the last access
  bool live = true;
};

struct pool_object {
  CUmemoryPool handle = nullptr;
  std::string name{};
  bool live = true;
};

struct graph_object {
  CUgraph handle = nullptr;
  std::string name{};
  std::vector<std::size_t> used_blocks{};  // indices of blocks
  std::vector<std::size_t> events{};       // indices of events that its nodes record or wait for
  std::vector<CUgraphNode> nodes{};        // those added by hand, in a chain
  bool live = true;
};

struct exec_object {
  CUgraphExec handle = nullptr;
  std::string name{};
  std::vector<std::size_t> used_blocks{};
  std::vector<std::size_t> events{};
  bool live = true;
};

// Objects that only wild sequences make. They stay in these lists after their destruction.
struct wild_objects {
  std::vector<CUarray> arrays;
  std::vector<CUdeviceptr> ranges;  // reserved addresses
  std::vector<CUmemGenericAllocationHandle> pieces;
  std::vector<CUgreenCtx> greens;
};

struct world {
  world(process& of, choice_source& choices, std::span<char> text_in)
      : p{of}, d{choices}, text{text_in}, host{of.new_log()} {}

  process& p;
  choice_source& d;
  transcript text;
  unsigned thread = 0;
  bool per_thread_form = false;  // which form of the functions the action uses

  std::vector<stream_object> streams;
  std::vector<event_object> events;
  std::vector<block> blocks;
  std::vector<pool_object> pools;
  std::vector<graph_object> graphs;
  std::vector<exec_object> execs;
  wild_objects wilds;
  host_log& host;
  std::vector<unsigned long long> stream_ids;

  [[nodiscard]] bool wild() const noexcept { return p.allowed == handles::any; }
  [[nodiscard]] const driver_table& driver() const noexcept {
    return per_thread_form ? p.driver.per_thread : p.driver.plain;
  }
};

// Returns the indices of the live objects in a list.
template <class Object>
std::vector<std::size_t> live_indices(const std::vector<Object>& objects) {
  std::vector<std::size_t> numbers;
  for (std::size_t i = 0; i < objects.size(); ++i) {
    if (objects[i].live) numbers.push_back(i);
  }
  return numbers;
}

// Returns the number of the calling thread's current context; -1 if there is none.
[[nodiscard]] int current_context(const world& w);

// Return names for handles that the driver returns.
[[nodiscard]] std::string name_of(const world& w, CUcontext context);
[[nodiscard]] std::string name_of(const world& w, CUmemoryPool pool);
[[nodiscard]] std::string where(const world& w, CUdeviceptr address);

}  // namespace weir::sequences
