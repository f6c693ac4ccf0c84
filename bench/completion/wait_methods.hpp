// completion/wait_methods.hpp - the ways in which a program learns that the work of a stream is
// done.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>
#include <weir/stream/stream.hpp>

namespace bench {

// When the news of a stream has arrived, in nanoseconds of the clock; 0 until then.
struct alignas(64) arrival {
  std::atomic<long long> at{0};
  void record();
};

// Waits in streams, one wait a stream at a time. Its threads end with it; nothing may be awaited
// then.
class wait_method {
 public:
  virtual ~wait_method() = default;
  // Has the end of what the stream has been given noted.
  virtual void await(std::size_t stream) = 0;
  // What the thread that releases the streams does meanwhile, again and again.
  virtual void poll();
};

enum class wait_method_kind {
  coroutine,       // co_await of a completion, resumed by the reactor's thread
  polled,          // the same, resumed by the thread that polls the reactor
  waiting,         // a thread for each stream in completion::wait()
  sync_wait,       // the same in sync_wait(), where a coroutine awaits the completion
  event_query,     // a loop of cuEventQuery over all streams
  stream_sync,     // a thread for each stream in cuStreamSynchronize
  blocking_event,  // a thread for each stream in cuEventSynchronize, asleep
  host_function,   // a host function wakes the thread that resumes the coroutine
  callback,        // a status callback does
};

[[nodiscard]] std::unique_ptr<wait_method> make_wait_method(wait_method_kind name,
                                                            std::span<const weir::stream> streams,
                                                            std::vector<arrival>& arrivals);
[[nodiscard]] std::string name_of(wait_method_kind name);

}  // namespace bench
