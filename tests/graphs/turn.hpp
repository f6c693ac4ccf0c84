// graphs/turn.hpp - calls made at once, or one alone, that are let go where they wait for what is held.
#pragma once

#include "graphs/lane.hpp"
#include "graphs/model.hpp"

#include <array>
#include <atomic>
#include <functional>
#include <string>
#include <vector>

namespace weir::graphs {

// Each thread's calls in their order, and all threads at once.
class turn {
 public:
  struct one {
    std::string what;
    answer expected;
    std::function<CUresult()> make;
    CUresult made = CUDA_SUCCESS;
    bool waited = false;  // and returned only when the gate had been opened for it
  };
  using calls = std::vector<one>;

  void add(unsigned thread, one call) { all_[thread].push_back(std::move(call)); }
  [[nodiscard]] const std::array<calls, thread_count>& all() const noexcept { return all_; }

  // Makes them all and returns when they have returned. Where streams are held and for the lane's patience none returns,
  // the gate is opened: a driver that has no place for more work waits for what is there.
  void make(lane& on);

 private:
  void let_go(lane& on);
  [[nodiscard]] std::size_t returned() const noexcept;

  std::array<calls, thread_count> all_;
  std::array<std::atomic<std::size_t>, thread_count> returned_{};
};

inline void turn::make(lane& on) {
  std::array<crew::act, thread_count> acts;
  for (unsigned i = 0; i < thread_count; ++i) {
    acts[i] = [&mine = all_[i], &count = returned_[i]] {
      for (one& call : mine) {
        call.made = call.make();
        count.fetch_add(1, std::memory_order_release);
      }
    };
    if (!all_[i].empty()) on.threads().begin(i, acts[i]);
  }
  // Only this thread holds and opens: when nothing is held any more, nothing will be before all have returned.
  std::size_t before = 0;
  while (on.holds() && !on.threads().finish_within(on.how_patient().time)) {
    const std::size_t now = returned();
    if (now == before) let_go(on);
    before = now;
  }
  on.threads().finish();
}

// Of each thread the call that it is in is told: which of them waits for the gate, and which for another, is not known.
inline void turn::let_go(lane& on) {
  for (unsigned i = 0; i < thread_count; ++i) {
    const std::size_t next = returned_[i].load(std::memory_order_acquire);
    if (next < all_[i].size()) all_[i][next].waited = true;
  }
  on.open();
}

inline std::size_t turn::returned() const noexcept {
  std::size_t sum = 0;
  for (const auto& count : returned_) sum += count.load(std::memory_order_acquire);
  return sum;
}

}  // namespace weir::graphs
