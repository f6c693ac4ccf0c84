// engine/reserve.hpp - workers beyond the usual number, while others are held up.
#pragma once

#include <atomic>
#include <cstdint>

namespace weir::embedded::engine {

// A kernel may spin until the program, or another stream, writes some memory, and holds its worker for as long. Where there is
// work, and no worker has come to anything new for a while, one more takes the place of one that is held up; that one ends
// when it is through.
//
// Thread safety: all members, from any thread.
class reserve {
 public:
  // As many kernels run at the same time on a GPU.
  static constexpr unsigned most = 128;

  // How many more workers than usual there may be just now.
  [[nodiscard]] unsigned size() const noexcept { return size_.load(std::memory_order_relaxed); }

  // One more, where there are not as many as there may be. One thread calls.
  void call_one() noexcept {
    if (size() >= most) return;
    size_.fetch_add(1, std::memory_order_relaxed);
    calls_.fetch_add(1, std::memory_order_relaxed);
  }

  // So many were called so far. A worker that finds another number when it is through with some work was held up by it.
  [[nodiscard]] std::uint32_t calls() const noexcept { return calls_.load(std::memory_order_relaxed); }

  // Does a worker end that is through, because another one has taken its place? It has to, then.
  [[nodiscard]] bool replaces(std::uint32_t calls_before) noexcept {
    if (calls() == calls_before) [[likely]]
      return false;
    unsigned now = size();
    while (now != 0 && !size_.compare_exchange_weak(now, now - 1, std::memory_order_relaxed)) {
    }
    return now != 0;
  }

 private:
  std::atomic<unsigned> size_{0};
  std::atomic<std::uint32_t> calls_{0};
};

}  // namespace weir::embedded::engine
