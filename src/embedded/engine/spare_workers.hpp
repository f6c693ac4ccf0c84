// engine/spare_workers.hpp - workers beyond the usual number, while others are held up.
#pragma once

#include <atomic>
#include <cstdint>

namespace weir::embedded::engine {

// A kernel may spin until the program, or another stream, writes some memory, and holds its worker
// for as long. Where there is work, and no worker has come to anything new for a while, one more
// takes the place of one that is held up; that one ends when it is through.
//
// Thread safety: all members, from any thread.
class spare_workers {
 public:
  // As many kernels run at the same time on a GPU.
  static constexpr unsigned max_count = 128;

  // How many more workers than usual there may be just now.
  [[nodiscard]] unsigned size() const noexcept { return size_.load(std::memory_order_relaxed); }

  // One more, where there are not as many as there may be. One thread calls.
  void add_one() noexcept {
    if (size() >= max_count) return;
    size_.fetch_add(1, std::memory_order_relaxed);
    generation_.fetch_add(1, std::memory_order_relaxed);
  }

  // So many were called so far. A worker that finds another number when it is through with some
  // work was held up by it.
  [[nodiscard]] std::uint32_t generation() const noexcept {
    return generation_.load(std::memory_order_relaxed);
  }

  // Does a worker end that is through, because another one has taken its place? It has to, then.
  [[nodiscard]] bool try_retire(std::uint32_t seen_generation) noexcept {
    if (generation() == seen_generation) [[likely]]
      return false;
    unsigned expected = size();
    while (expected != 0 &&
           !size_.compare_exchange_weak(expected, expected - 1, std::memory_order_relaxed)) {
    }
    return expected != 0;
  }

 private:
  std::atomic<unsigned> size_{0};
  std::atomic<std::uint32_t> generation_{0};
};

}  // namespace weir::embedded::engine
