// SPDX-License-Identifier: Apache-2.0
// api/stream/stream_cache.hpp - a per-thread cache of a value for the most recently used streams.
#pragma once

#include "api/stream/stream_state.hpp"
#include "driver/abi.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace weir::detail {

// A direct-mapped cache keyed by stream handle; a lookup costs a few instructions. All entries
// become invalid when streams_destroyed is incremented, such as when weir destroys any stream that
// it owns. For a stream that other code owns, the code that inserts a value must ensure that the
// value stays valid.
//
// The null handle must not be inserted, because it marks an unused entry. The class is
// constant-initialized and trivially destructible, so that it can be thread-local.
template <class Value>
class stream_cache {
 public:
  // Returns Value{} if there is no valid entry.
  [[nodiscard]] Value find(abi::CUstream stream) const noexcept {
    const entry& e = entries_[index_of(stream)];
    const bool good =
        e.stream == stream && seen_destroyed_ == streams_destroyed.load(std::memory_order_relaxed);
    return good ? e.value : Value{};
  }

  // Like find(), but also returns a value that may be out of date, because weir has destroyed a
  // stream since the value was inserted.
  [[nodiscard]] Value find_stale(abi::CUstream stream) const noexcept {
    const entry& e = entries_[index_of(stream)];
    return e.stream == stream ? e.value : Value{};
  }

  // Clears the cache if weir has destroyed a stream since the last call. Call it before the
  // computation of a value that is inserted, so that a stream destroyed meanwhile makes the value
  // invalid.
  void invalidate_stale() noexcept {
    const std::uint32_t destroyed = streams_destroyed.load(std::memory_order_acquire);
    if (seen_destroyed_ == destroyed) return;
    clear();
    seen_destroyed_ = destroyed;
  }

  void insert(abi::CUstream stream, Value value) noexcept {
    entries_[index_of(stream)] = {stream, value};
  }
  void erase(abi::CUstream stream) noexcept { entries_[index_of(stream)] = {}; }
  void clear() noexcept { *this = {}; }

 private:
  struct entry {
    abi::CUstream stream;
    Value value;
  };
  static constexpr unsigned size_bits = 4;

  static std::size_t index_of(abi::CUstream stream) noexcept {
    const auto bits = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(stream));
    return (bits * 0x9e37'79b9'7f4a'7c15u) >> (64 - size_bits);
  }

  entry entries_[1u << size_bits] = {};
  // The value of streams_destroyed at the last invalidate_stale().
  std::uint32_t seen_destroyed_ = 0;
};

}  // namespace weir::detail
