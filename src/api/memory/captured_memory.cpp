// api/memory/captured_memory.cpp - what becomes of memory that a capture has made when its buffer outlives the capture.
#include "api/memory/captured_memory.hpp"

#include "api/graph/graph_parts.hpp"
#include "api/core/never_destroyed.hpp"

#include <algorithm>
#include <mutex>

namespace weir::detail {
namespace {

struct captured_memory {
  unsigned long long capture = 0;
  abi::CUgraph graph = nullptr;  // once it is captured, until it is destroyed; the root if that is a part of another
  int buffers = 0;
  int users = 0;           // the graph, and executables of it
  bool allocated = false;  // perhaps, for it was launched, or is in others' hands
  bool gone = false;       // without having been

  void drop_user() noexcept {
    if (--users == 0) gone = !allocated;
  }
};

struct captured_memories {
  std::mutex lock;
  std::vector<captured_memory> all;  // few: those with a buffer that is there

  [[nodiscard]] captured_memory* find(unsigned long long capture) noexcept {
    const auto found = std::ranges::find(all, capture, &captured_memory::capture);
    return found == all.end() ? nullptr : &*found;
  }
};

captured_memories& memories() {
  static never_destroyed<captured_memories> those;
  return *those;
}

// Calls change(it) with what is known of the memory of that capture, if any of it is there.
template <class Change>
void change(unsigned long long capture, const Change& change) noexcept {
  if (!any_captured_memory()) return;
  captured_memories& those = memories();
  const std::lock_guard lock{those.lock};
  if (captured_memory* const memory = those.find(capture)) change(*memory);
}

template <class Change>
void change_each_of(abi::CUgraph graph, const Change& change) noexcept {
  if (!any_captured_memory()) return;
  captured_memories& those = memories();
  const std::lock_guard lock{those.lock};
  for (captured_memory& memory : those.all) {
    if (memory.graph == graph) change(memory);
  }
}

}  // namespace

void add_captured_memory(unsigned long long capture) {
  captured_memories& those = memories();
  const std::lock_guard lock{those.lock};
  captured_memory* memory = those.find(capture);
  if (memory == nullptr) {
    memory = &those.all.emplace_back(captured_memory{.capture = capture});
    captures_with_memory.fetch_add(1, std::memory_order_relaxed);
  }
  ++memory->buffers;
}

void drop_captured_memory(unsigned long long capture) noexcept {
  if (!any_captured_memory()) return;
  captured_memories& those = memories();
  const std::lock_guard lock{those.lock};
  captured_memory* const memory = those.find(capture);
  if (memory == nullptr || --memory->buffers != 0) return;
  *memory = those.all.back();
  those.all.pop_back();
  captures_with_memory.fetch_sub(1, std::memory_order_relaxed);
}

bool may_be_allocated(unsigned long long capture) noexcept {
  bool gone = false;
  change(capture, [&](const captured_memory& memory) { gone = memory.gone; });
  return !gone;
}

void note_captured_graph(unsigned long long capture, abi::CUgraph graph) noexcept {
  const abi::CUgraph root = root_of(graph);
  change(capture, [&](captured_memory& memory) {
    memory.graph = root;
    memory.users = 1;
  });
}

void note_nothing_captured(unsigned long long capture) noexcept {
  change(capture, [](captured_memory& memory) { memory.gone = true; });
}

void note_graph_destroyed(abi::CUgraph graph) noexcept {
  change_each_of(graph, [](captured_memory& memory) {
    memory.graph = nullptr;
    memory.drop_user();
  });
}

void note_graph_moved(abi::CUgraph graph, abi::CUgraph into) noexcept {
  const abi::CUgraph root = root_of(into);
  change_each_of(graph, [&](captured_memory& memory) { memory.graph = root; });
}

void note_graph_released(abi::CUgraph graph) noexcept {
  change_each_of(graph, [](captured_memory& memory) { memory.allocated = true; });
}

std::size_t captured_memory_share::add(abi::CUgraph graph) {
  if (!any_captured_memory()) return 0;
  const abi::CUgraph root = root_of(graph);
  captured_memories& those = memories();
  const std::lock_guard lock{those.lock};
  const std::size_t before = captures_.size();
  captures_.reserve(before + those.all.size());
  for (captured_memory& memory : those.all) {
    if (memory.graph != root || std::ranges::find(captures_, memory.capture) != captures_.end()) continue;
    captures_.push_back(memory.capture);
    ++memory.users;
  }
  return captures_.size() - before;
}

void captured_memory_share::drop(std::size_t count) noexcept {
  for (; count > 0; --count) {
    change(captures_.back(), [](captured_memory& memory) { memory.drop_user(); });
    captures_.pop_back();
  }
}

void captured_memory_share::note_launch() const noexcept {
  for (const unsigned long long capture : captures_) {
    change(capture, [](captured_memory& memory) { memory.allocated = true; });
  }
}

}  // namespace weir::detail
