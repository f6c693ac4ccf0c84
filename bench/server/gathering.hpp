// server/gathering.hpp - requests of one thread that are queued together, as many as wait when there is room for them.
#pragma once

#include "server/requests.hpp"

#include <algorithm>
#include <coroutine>
#include <cstddef>
#include <utility>
#include <vector>
#include <weir/stream/stream.hpp>
#include <weir/completion/task.hpp>

namespace bench {

// Who asks waits until a group has room for him. A group is queued by two calls for all copies of its requests and one for
// each kernel, and those who asked go on when all of it is done. For one thread.
class gathering {
 public:
  static constexpr std::size_t most_together = 32;

  explicit gathering(requests& all) : all_{all} {}
  gathering(const gathering&) = delete;
  gathering& operator=(const gathering&) = delete;

  // co_await answer(place): until the request of that place is answered.
  [[nodiscard]] auto answer(std::size_t place) {
    struct turn {
      [[nodiscard]] bool await_ready() const { return false; }
      void await_suspend(std::coroutine_handle<> awaiting) const { at.waiting_.push_back({place, awaiting}); }
      void await_resume() const {}
      gathering& at;
      std::size_t place;
    };
    return turn{*this, place};
  }

  // One group after the other, until nobody asks any more. Wait: gives what is awaited for all that a stream has.
  template <class Wait>
  weir::task<> serve(const weir::stream& stream, Wait wait) {
    together queued;
    std::vector<std::size_t> places;
    std::vector<one> group;
    while (!waiting_.empty()) {
      const auto end = waiting_.begin() + static_cast<std::ptrdiff_t>(std::min(waiting_.size(), most_together));
      group.assign(waiting_.begin(), end);
      waiting_.erase(waiting_.begin(), end);
      places.clear();
      for (const one& each : group) places.push_back(each.place);
      all_.queue_together(places, stream, queued);
      co_await wait(stream);
      for (const one& each : group) each.awaiting.resume();  // most of them ask again
    }
  }

 private:
  struct one {
    std::size_t place;
    std::coroutine_handle<> awaiting;
  };

  requests& all_;
  std::vector<one> waiting_;
};

}  // namespace bench
