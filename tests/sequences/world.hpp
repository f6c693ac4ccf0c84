// sequences/world.hpp - what a sequence has made so far, and the process that it runs in.
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

// Which handles the calls may be given.
enum class handles {
  checked_only,  // only those that a GPU's driver checks: it crashes on the others (rules.md, 24.1)
  any,           // also destroyed ones, ones of another kind and numbers
};

// Host memory that is no driver's until it is registered: whole pages, apart from each other.
struct host_page {
  static constexpr std::size_t bytes = 65536;
  std::unique_ptr<std::uint8_t, void (*)(void*)> memory;
};

// What all sequences of a process share. Its contexts are made once, because a GPU takes long to
// make one.
struct process {
  explicit process(const driver_under_test& under_test, handles allowed);
  process(const process&) = delete;
  process& operator=(const process&) = delete;

  // The log of a new sequence.
  host_log& new_log();

  static constexpr unsigned context_count = 2;
  static constexpr unsigned page_count = 3;

  driver_under_test driver;
  handles allowed;
  CUdevice device = 0;
  std::array<CUcontext, context_count> contexts{};  // the primary one, and one of our own
  std::array<unsigned, context_count> flags{};      // as they were made
  std::vector<host_page> pages;
  host_page gate_page;
  CUdeviceptr gate_word =
      0;  // in that page, registered; it only grows, so that no wait for it is for ever
  volatile std::uint32_t* gate_word_on_host = nullptr;
  std::uint32_t gates = 0;
  std::deque<std::shared_ptr<host_log>>
      logs;  // of the latest sequences: a capture that was left open ends later
  host_threads threads;
};

inline constexpr int no_pending_work = -1;  // in place of a stream: nobody's work is pending

struct stream_object {
  CUstream handle = nullptr;
  std::string name{};
  int context = -1;  // which of the process's
  bool blocking = false, live = true;
  bool held = false;  // by the gate that is closed
};

struct event_object {
  CUevent handle = nullptr;
  std::string name{};
  int context = -1;
  bool live = true;
  bool held = false;  // recorded behind the gate that is closed
};

enum class memory { device, pitched, pinned, managed, pooled, page, registered };

struct block {
  memory kind = memory::device;
  std::string name{};
  CUdeviceptr address = 0;
  std::size_t size = 0;
  std::size_t pitch = 0;       // of pitched memory
  int page = -1;               // of host memory: which
  bool read_only = false;      // to the device
  bool in_graph = false;       // work with it was captured, which may be launched at any time
  int last = no_pending_work;  // the stream of the last access, by its number
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
  std::vector<std::size_t> used_blocks{};  // numbers of blocks
  std::vector<std::size_t> events{};       // numbers of those that its nodes record or wait for
  std::vector<CUgraphNode> nodes{};        // in a line, those that were added by hand
  bool live = true;
};

struct exec_object {
  CUgraphExec handle = nullptr;
  std::string name{};
  std::vector<std::size_t> used_blocks{};
  std::vector<std::size_t> events{};
  bool live = true;
};

// What only wild sequences make. It stays in these lists when it is gone.
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

// The numbers of the live ones in a list of objects.
template <class Object>
std::vector<std::size_t> live_indices(const std::vector<Object>& objects) {
  std::vector<std::size_t> numbers;
  for (std::size_t i = 0; i < objects.size(); ++i) {
    if (objects[i].live) numbers.push_back(i);
  }
  return numbers;
}

// The context that is current to the calling thread, as a number; -1 where there is none.
[[nodiscard]] int current_context(const world& w);

// Names of what the driver answers with.
[[nodiscard]] std::string name_of(const world& w, CUcontext context);
[[nodiscard]] std::string name_of(const world& w, CUmemoryPool pool);
[[nodiscard]] std::string where(const world& w, CUdeviceptr address);

}  // namespace weir::sequences
