// engine/pending_value_writes.hpp - which stream was last told to write a word of memory.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "embedded/engine/operation.hpp"

namespace weir::embedded::engine {

// A stream that waits for a value depends on whoever writes it, and a thread that helps the one
// wants to know the other. So the submitters of writes leave word here. Only a hint: what is
// written here may be of an older write, or gone, for words that share an entry; what it says is
// checked by those who follow it, and what it does not say is left to the workers.
//
// Thread safety: all of it, from any thread. No lock.
namespace pending_value_writes {

struct alignas(64) entry {
  std::atomic<const void*> word{nullptr};
  std::atomic<timeline*> line{nullptr};
  std::atomic<std::uint64_t> count{0};
};

inline constinit std::array<entry, 64> entries{};

[[nodiscard]] inline entry& entry_of(const void* word) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(word);
  return entries[static_cast<std::size_t>((address >> 2) * 0x9e37'79b9'7f4a'7c15u >> 58)];
}

// A write to the word was submitted, and is complete at the point.
inline void record(const void* word, point target) noexcept {
  entry& e = entry_of(word);
  e.line.store(target.line, std::memory_order_relaxed);
  e.count.store(target.count, std::memory_order_relaxed);
  e.word.store(word, std::memory_order_release);
}

// Where the last one that is known of is complete; a null line where none is.
[[nodiscard]] inline point last_write(const void* word) noexcept {
  const entry& e = entry_of(word);
  if (e.word.load(std::memory_order_acquire) != word) return {};
  return {e.line.load(std::memory_order_relaxed), e.count.load(std::memory_order_relaxed)};
}

}  // namespace pending_value_writes

}  // namespace weir::embedded::engine
