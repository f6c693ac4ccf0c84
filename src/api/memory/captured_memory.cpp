// SPDX-License-Identifier: Apache-2.0
// api/memory/captured_memory.cpp - memory allocated in a capture whose buffer outlives the capture.
#include "api/memory/captured_memory.hpp"

#include "api/core/never_destroyed.hpp"
#include "api/graph/graph_parts.hpp"

#include <algorithm>
#include <mutex>

namespace weir::detail {
namespace {

// The state of the memory that one capture allocates.
struct captured_memory {
  unsigned long long capture = 0;
  // The captured graph, or its root (graph_parts.hpp) if it is part of another graph. Set at the
  // end of the capture; null before that and after the graph was destroyed.
  abi::CUgraph graph = nullptr;
  int buffers = 0;               // buffers with memory of this capture
  int users = 0;                 // number: the graph (until it is destroyed) and its executables
  bool allocated = false;        // true if a launch has been possible, by weir or other code
  bool never_allocated = false;  // true if no launch was or will be possible

  void remove_user() noexcept {
    if (--users == 0) never_allocated = !allocated;
  }
};

// The entries of all captures with buffers, and their lock.
struct captured_memory_table {
  std::mutex lock;
  std::vector<captured_memory> all;  // few: only captures that have a buffer

  [[nodiscard]] captured_memory* find(unsigned long long capture) noexcept {
    const auto found = std::ranges::find(all, capture, &captured_memory::capture);
    return found == all.end() ? nullptr : &*found;
  }
};

captured_memory_table& captured_memory_registry() {
  static never_destroyed<captured_memory_table> registry;
  return *registry;
}

// Calls change_function(entry) with the entry of `capture`, if it has one.
template <class Change>
void change_entry(unsigned long long capture, const Change& change_function) noexcept {
  if (!any_captured_memory()) return;
  captured_memory_table& registry = captured_memory_registry();
  const std::lock_guard lock{registry.lock};
  if (captured_memory* const memory = registry.find(capture)) change_function(*memory);
}

template <class Change>
void change_each_of(abi::CUgraph graph, const Change& change_function) noexcept {
  if (!any_captured_memory()) return;
  captured_memory_table& registry = captured_memory_registry();
  const std::lock_guard lock{registry.lock};
  for (captured_memory& memory : registry.all) {
    if (memory.graph == graph) change_function(memory);
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
  change_entry(capture,
               [&](const captured_memory& memory) { never_allocated = memory.never_allocated; });
  return !never_allocated;
}

void note_captured_graph(unsigned long long capture, abi::CUgraph graph) noexcept {
  const abi::CUgraph root = root_of(graph);
  change_entry(capture, [&](captured_memory& memory) {
    memory.graph = root;
    memory.users = 1;
  });
}

void note_nothing_captured(unsigned long long capture) noexcept {
  change_entry(capture, [](captured_memory& memory) { memory.never_allocated = true; });
}

void note_captured_graph_destroyed(abi::CUgraph graph) noexcept {
  change_each_of(graph, [](captured_memory& memory) {
    memory.graph = nullptr;
    memory.remove_user();
  });
}

void note_captured_graph_moved(abi::CUgraph graph, abi::CUgraph new_parent) noexcept {
  const abi::CUgraph root = root_of(new_parent);
  change_each_of(graph, [&](captured_memory& memory) { memory.graph = root; });
}

void note_captured_graph_released(abi::CUgraph graph) noexcept {
  change_each_of(graph, [](captured_memory& memory) { memory.allocated = true; });
}

std::size_t captured_memory_use::add(abi::CUgraph graph) {
  if (!any_captured_memory()) return 0;
  const abi::CUgraph root = root_of(graph);
  captured_memory_table& registry = captured_memory_registry();
  const std::lock_guard lock{registry.lock};
  const std::size_t previous_size = captures_.size();
  captures_.reserve(previous_size + registry.all.size());
  for (captured_memory& memory : registry.all) {
    if (memory.graph != root || std::ranges::find(captures_, memory.capture) != captures_.end())
      continue;
    captures_.push_back(memory.capture);
    ++memory.users;
  }
  return captures_.size() - previous_size;
}

void captured_memory_use::release(std::size_t count) noexcept {
  for (; count > 0; --count) {
    change_entry(captures_.back(), [](captured_memory& memory) { memory.remove_user(); });
    captures_.pop_back();
  }
}

void captured_memory_use::track_launch() const noexcept {
  for (const unsigned long long capture : captures_) {
    change_entry(capture, [](captured_memory& memory) { memory.allocated = true; });
  }
}

}  // namespace weir::detail
