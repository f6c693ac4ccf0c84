// api/memory/captured_memory.cpp - what becomes of memory that a capture has made when its buffer
// outlives the capture.
#include "api/memory/captured_memory.hpp"

#include "api/core/never_destroyed.hpp"
#include "api/graph/graph_parts.hpp"

#include <algorithm>
#include <mutex>

namespace weir::detail {
namespace {

struct captured_memory {
  unsigned long long capture = 0;
  abi::CUgraph graph =
      nullptr;  // once it is captured, until it is destroyed; the root if that is a part of another
  int buffers = 0;
  int users = 0;                 // the graph, and executables of it
  bool allocated = false;        // perhaps, for it was launched, or is in others' hands
  bool never_allocated = false;  // without having been

  void remove_user() noexcept {
    if (--users == 0) never_allocated = !allocated;
  }
};

struct captured_memory_table {
  std::mutex lock;
  std::vector<captured_memory> all;  // few: those with a buffer that is there

  [[nodiscard]] captured_memory* find(unsigned long long capture) noexcept {
    const auto found = std::ranges::find(all, capture, &captured_memory::capture);
    return found == all.end() ? nullptr : &*found;
  }
};

captured_memory_table& captured_memory_registry() {
  static never_destroyed<captured_memory_table> registry;
  return *registry;
}

// Calls change(it) with what is known of the memory of that capture, if any of it is there.
template <class Change>
void change(unsigned long long capture, const Change& change) noexcept {
  if (!any_captured_memory()) return;
  captured_memory_table& registry = captured_memory_registry();
  const std::lock_guard lock{registry.lock};
  if (captured_memory* const memory = registry.find(capture)) change(*memory);
}

template <class Change>
void change_each_of(abi::CUgraph graph, const Change& change) noexcept {
  if (!any_captured_memory()) return;
  captured_memory_table& registry = captured_memory_registry();
  const std::lock_guard lock{registry.lock};
  for (captured_memory& memory : registry.all) {
    if (memory.graph == graph) change(memory);
  }
}

}  // namespace

void add_captured_memory(unsigned long long capture) {
  captured_memory_table& registry = captured_memory_registry();
  const std::lock_guard lock{registry.lock};
  captured_memory* memory = registry.find(capture);
  if (memory == nullptr) {
    memory = &registry.all.emplace_back(captured_memory{.capture = capture});
    captures_with_memory.fetch_add(1, std::memory_order_relaxed);
  }
  ++memory->buffers;
}

void remove_captured_memory(unsigned long long capture) noexcept {
  if (!any_captured_memory()) return;
  captured_memory_table& registry = captured_memory_registry();
  const std::lock_guard lock{registry.lock};
  captured_memory* const memory = registry.find(capture);
  if (memory == nullptr || --memory->buffers != 0) return;
  *memory = registry.all.back();
  registry.all.pop_back();
  captures_with_memory.fetch_sub(1, std::memory_order_relaxed);
}

bool may_be_allocated(unsigned long long capture) noexcept {
  bool never_allocated = false;
  change(capture, [&](const captured_memory& memory) { never_allocated = memory.never_allocated; });
  return !never_allocated;
}

void note_captured_graph(unsigned long long capture, abi::CUgraph graph) noexcept {
  const abi::CUgraph root = root_of(graph);
  change(capture, [&](captured_memory& memory) {
    memory.graph = root;
    memory.users = 1;
  });
}

void note_nothing_captured(unsigned long long capture) noexcept {
  change(capture, [](captured_memory& memory) { memory.never_allocated = true; });
}

void note_graph_destroyed(abi::CUgraph graph) noexcept {
  change_each_of(graph, [](captured_memory& memory) {
    memory.graph = nullptr;
    memory.remove_user();
  });
}

void note_graph_moved(abi::CUgraph graph, abi::CUgraph into) noexcept {
  const abi::CUgraph root = root_of(into);
  change_each_of(graph, [&](captured_memory& memory) { memory.graph = root; });
}

void note_graph_released(abi::CUgraph graph) noexcept {
  change_each_of(graph, [](captured_memory& memory) { memory.allocated = true; });
}

std::size_t captured_memory_use::add(abi::CUgraph graph) {
  if (!any_captured_memory()) return 0;
  const abi::CUgraph root = root_of(graph);
  captured_memory_table& registry = captured_memory_registry();
  const std::lock_guard lock{registry.lock};
  const std::size_t before = captures_.size();
  captures_.reserve(before + registry.all.size());
  for (captured_memory& memory : registry.all) {
    if (memory.graph != root || std::ranges::find(captures_, memory.capture) != captures_.end())
      continue;
    captures_.push_back(memory.capture);
    ++memory.users;
  }
  return captures_.size() - before;
}

void captured_memory_use::release(std::size_t count) noexcept {
  for (; count > 0; --count) {
    change(captures_.back(), [](captured_memory& memory) { memory.remove_user(); });
    captures_.pop_back();
  }
}

void captured_memory_use::track_launch() const noexcept {
  for (const unsigned long long capture : captures_) {
    change(capture, [](captured_memory& memory) { memory.allocated = true; });
  }
}

}  // namespace weir::detail
