// server/request_batcher.hpp - requests of one thread that are queued together, as many as wait
// when there is room for them.
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

// Who asks waits until a group has room for him. A group is queued by two calls for all copies of
// its requests and one for each kernel, and those who asked go on when all of it is done. For one
// thread.
class request_batcher {
 public:
  static constexpr std::size_t max_batch = 32;

  explicit request_batcher(requests& all) : all_{all} {}
  request_batcher(const request_batcher&) = delete;
  request_batcher& operator=(const request_batcher&) = delete;

  // co_await answer(place): until the request of that place is answered.
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

  // One group after the other, until nobody asks any more. Wait: gives what is awaited for all that
  // a stream has.
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
      for (const one& each : group) each.awaiting.resume();  // most of them ask again
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
