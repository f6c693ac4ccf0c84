// SPDX-License-Identifier: Apache-2.0
// embedded/engine/pending_value_writes.hpp - the stream to which the last write of a word was
// submitted.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "embedded/engine/operation.hpp"

namespace weir::embedded::engine {

// A stream that waits for a value depends on the stream that writes it, and a thread that waits for
// the first stream needs to find the second. Submitters of writes therefore record them here. The
// table is only a hint: an entry may describe an older write or be overwritten, because words share
// entries. Readers verify the entry that they find. If the entry is missing, a worker runs the
// write instead of the waiting thread.
//
// Thread safety: all functions may be called from any thread. No lock.
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

// Records that a write to the word was submitted. The write is complete when the point, a position
// in the timeline of the writing stream, is reached.
inline void record(const void* word, point target) noexcept {
  entry& word_entry = entry_of(word);
  word_entry.line.store(target.line, std::memory_order_relaxed);
  word_entry.count.store(target.count, std::memory_order_relaxed);
  word_entry.word.store(word, std::memory_order_release);
}

// Returns the point at which the last known write is complete; no point if no write is known.
[[nodiscard]] inline point last_write(const void* word) noexcept {
  const entry& word_entry = entry_of(word);
  if (word_entry.word.load(std::memory_order_acquire) != word) return {};
  return {word_entry.line.load(std::memory_order_relaxed),
          word_entry.count.load(std::memory_order_relaxed)};
}

}  // namespace pending_value_writes

}  // namespace weir::embedded::engine
