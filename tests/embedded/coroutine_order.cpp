// SPDX-License-Identifier: Apache-2.0
// coroutine_order.cpp - prints the order in which three coroutines of one thread resume and their
// queued work runs; same_order.sh compares runs.
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <vector>

#include <weir/completion/completion.hpp>
#include <weir/completion/sync_wait.hpp>
#include <weir/completion/task.hpp>
#include <weir/completion/when_all_values.hpp>
#include <weir/device/device.hpp>
#include <weir/memory/fill.hpp>
#include <weir/memory/pinned_buffer.hpp>
#include <weir/stream/host_function.hpp>
#include <weir/stream/stream.hpp>

namespace {

class noted_order {
 public:
  void note(int number) {
    const std::lock_guard hold{lock_};
    numbers_.push_back(number);
  }
  void print() const {
    for (const int number : numbers_) std::printf("%d ", number);
    std::printf("\n");
  }

 private:
  std::mutex lock_;
  std::vector<int> numbers_;
};

// The words outlive all coroutines: a buffer freed earlier would be released by weir's reclaimer
// thread, and waiting for that is a scheduling step, too.
weir::task<> work(weir::stream_ref s, weir::pinned_buffer<int>& words, noted_order& order,
                  int who) {
  constexpr int rounds = 8;
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < round; ++i) weir::fill(s, words, i);
    weir::launch_host(s, [&order, who, round] { order.note(1000 + 100 * who + round); });
    co_await s.completion();
    order.note(100 * who + round);
  }
}

}  // namespace

int main() {
  const weir::device gpu;
  noted_order order;
  weir::stream a{gpu};
  weir::stream b{gpu};
  weir::stream c{gpu};
  weir::pinned_buffer<int> of_a{1000};
  weir::pinned_buffer<int> of_b{1000};
  weir::pinned_buffer<int> of_c{1000};
  weir::sync_wait(
      weir::when_all(work(a, of_a, order, 1), work(b, of_b, order, 2), work(c, of_c, order, 3)));
  order.print();
  return EXIT_SUCCESS;
}
