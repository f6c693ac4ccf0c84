// SPDX-License-Identifier: Apache-2.0
// server/request_batcher.hpp - queues requests of one thread together: all that wait when there is
// room for them.
#pragma once

#include "server/requests.hpp"

#include <algorithm>
#include <coroutine>
#include <cstddef>
#include <utility>
#include <vector>
#include <weir/completion/task.hpp>
#include <weir/stream/stream.hpp>

namespace bench {

// A request waits until there is room for a group. A group is queued by two calls for all copies
// and one for each kernel, and its coroutines resume when all of it is done. For one thread.
class request_batcher {
 public:
  static constexpr std::size_t max_batch = 32;

  explicit request_batcher(requests& all) : all_{all} {}
  request_batcher(const request_batcher&) = delete;
  request_batcher& operator=(const request_batcher&) = delete;

  // co_await answer(slot): waits until the request of that slot is answered.
  [[nodiscard]] auto answer(std::size_t slot) {
    struct awaiter {
      [[nodiscard]] bool await_ready() const { return false; }
      void await_suspend(std::coroutine_handle<> awaiting) const {
        at.waiting_.push_back({slot, awaiting});
      }
      void await_resume() const {}
      request_batcher& at;
      std::size_t slot;
    };
    return awaiter{*this, slot};
  }

  // Runs one group after the other, until no request waits. Wait: returns the awaitable for all
  // work of a stream.
  template <class Wait>
  weir::task<> serve(const weir::stream& stream, Wait wait) {
    batch_copies copies;
    std::vector<std::size_t> slots;
    std::vector<one> group;
    while (!waiting_.empty()) {
      const auto end =
          waiting_.begin() + static_cast<std::ptrdiff_t>(std::min(waiting_.size(), max_batch));
      group.assign(waiting_.begin(), end);
      waiting_.erase(waiting_.begin(), end);
      slots.clear();
      for (const one& each : group) slots.push_back(each.slot);
      all_.queue_batch(slots, stream, copies);
      co_await wait(stream);
      for (const one& each : group) each.awaiting.resume();  // most of them send the next request
    }
  }

 private:
  struct one {
    std::size_t slot;
    std::coroutine_handle<> awaiting;
  };

  requests& all_;
  std::vector<one> waiting_;
};

}  // namespace bench
