// api/stream/stream_cache.hpp - what a thread remembers of the last few streams that it has asked
// about.
#pragma once

#include "api/stream/stream_state.hpp"
#include "driver/abi.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace weir::detail {

// By handle, and as plain as can be, so that a look costs a few instructions. The end of weir's own
// streams is noticed; whoever remembers something of another sees to it that it stays right. Of
// null, a default stream, nothing is remembered. For objects of a thread: constant-initialized,
// trivially destroyed.
template <class Value>
class stream_cache {
 public:
  // Value{} if nothing is remembered.
  [[nodiscard]] Value find(abi::CUstream stream) const noexcept {
    const entry& e = entries_[index_of(stream)];
    const bool good =
        e.stream == stream && seen_destroyed_ == streams_destroyed.load(std::memory_order_relaxed);
    return good ? e.value : Value{};
  }

  // The same, though a stream may have ended since.
  [[nodiscard]] Value find_stale(abi::CUstream stream) const noexcept {
    const entry& e = entries_[index_of(stream)];
    return e.stream == stream ? e.value : Value{};
  }

  // To be called before anybody is asked for what is then remembered: forgets all if a stream has
  // ended meanwhile.
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
  std::uint32_t seen_destroyed_ =
      0;  // streams_destroyed when the entries were last known to be good
};

}  // namespace weir::detail
