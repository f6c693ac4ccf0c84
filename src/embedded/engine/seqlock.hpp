// SPDX-License-Identifier: Apache-2.0
// embedded/engine/seqlock.hpp - a small value that one thread writes and others read without a
// lock.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "os/spin_lock.hpp"

namespace weir::embedded::engine {

// A sequence lock. Thread safety: store() by one thread at a time; all other members from any
// thread at any time.
template <class T>
class seqlock {
  static_assert(std::is_trivially_copyable_v<T> && std::is_default_constructible_v<T>);

 public:
  seqlock() noexcept { store(T{}); }

  void store(const T& value) noexcept {
    words copy{};
    std::memcpy(copy.data(), &value, sizeof value);
    const std::uint32_t version = version_.load(std::memory_order_relaxed);
    version_.store(version + 1, std::memory_order_relaxed);
    // Release stores keep each word after the odd version; acquire loads keep each read before the
    // second check of the version. Fences would do, but TSan does not support them.
    for (std::size_t i = 0; i < copy.size(); ++i)
      words_[i].store(copy[i], std::memory_order_release);
    version_.store(version + 2, std::memory_order_release);
  }

  // Returns false if a store is in progress or happened during the read.
  [[nodiscard]] bool try_load(T& value) const noexcept {
    const std::uint32_t version = version_.load(std::memory_order_acquire);
    words copy;
    for (std::size_t i = 0; i < copy.size(); ++i)
      copy[i] = words_[i].load(std::memory_order_acquire);
    if (version % 2 != 0 || version_.load(std::memory_order_relaxed) != version) return false;
    std::memcpy(static_cast<void*>(&value), copy.data(), sizeof value);
    return true;
  }

  [[nodiscard]] T load() const noexcept {
    T value{};
    while (!try_load(value)) os::pause();
    return value;
  }

 private:
  using words =
      std::array<std::uint64_t, (sizeof(T) + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t)>;

  std::atomic<std::uint32_t> version_{0};  // odd during a store
  std::array<std::atomic<std::uint64_t>, std::tuple_size_v<words>> words_{};
};

}  // namespace weir::embedded::engine
