// reactor/retired_queues.hpp - lanes that nobody waits in any more, to be tidied when those who
// waited are told.
#pragma once

#include "reactor/completion_queue.hpp"

#include <array>
#include <cstddef>

namespace weir::detail {

// Of one pass of a reactor, which tells everybody first: it takes a microsecond to destroy an event
// that has failed, and nobody is to wait for that.
class retired_queues {
 public:
  retired_queues() noexcept = default;
  retired_queues(const retired_queues&) = delete;
  retired_queues& operator=(const retired_queues&) = delete;
  ~retired_queues() { reclaim(); }
  void add(completion_queue& queue) noexcept {
    if (count_ == queues_.size()) reclaim();
    queues_[count_++] = &queue;
  }

 private:
  void reclaim() noexcept {
    for (; count_ != 0; --count_) queues_[count_ - 1]->reclaim();
  }

  std::array<completion_queue*, 64> queues_;  // as many as are awaited at a time, mostly
  std::size_t count_ = 0;
};

}  // namespace weir::detail
