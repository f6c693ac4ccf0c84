// SPDX-License-Identifier: Apache-2.0
// completion/wait_methods.hpp - the ways in which a program can wait for the work of a stream.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>
#include <weir/stream/stream.hpp>

namespace bench {

// When the completion of a stream was noticed, in nanoseconds of the clock; 0 until then.
struct alignas(64) arrival {
  std::atomic<long long> at{0};
  void record();
};

// Waits for streams, one wait for each stream at a time. Its threads end with it; no wait may be
// pending then.
class wait_method {
 public:
  virtual ~wait_method() = default;
  // Records when the stream's current work completes.
  virtual void await(std::size_t stream) = 0;
  // The thread that releases the streams calls this repeatedly in between.
  virtual void poll();
};

enum class wait_method_kind {
  coroutine,  // co_await of a completion, resumed by the reactor thread
  polled,     // co_await of a completion, resumed by the thread that polls the reactor
  waiting,    // a thread for each stream in completion::wait()
  // a thread for each stream in sync_wait() of a coroutine that awaits the completion
  sync_wait,
  event_query,     // a loop of cuEventQuery over all streams
  stream_sync,     // a thread for each stream in cuStreamSynchronize
  blocking_event,  // a thread for each stream in cuEventSynchronize, blocking
  host_function,   // a host function wakes the thread that resumes the coroutine
  callback,        // a status callback wakes the thread that resumes the coroutine
};

[[nodiscard]] std::unique_ptr<wait_method> make_wait_method(wait_method_kind name,
                                                            std::span<const weir::stream> streams,
                                                            std::vector<arrival>& arrivals);
[[nodiscard]] std::string name_of(wait_method_kind name);

}  // namespace bench
