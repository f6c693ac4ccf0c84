// SPDX-License-Identifier: Apache-2.0
// model/core/thread_state.hpp - the driver's state of each thread of the program.
#pragma once

#include <vector>

#include "driver/abi.hpp"
#include "embedded/model/memory/allocation_cache.hpp"

namespace weir::embedded::model {

class context;
class stream;

// The driver's state of one thread of the program. Created by the thread's first driver call,
// destroyed when the thread ends. Used only by that thread.
class thread_state {
 public:
  // Returns the top of the thread's context stack; null if the stack is empty.
  [[nodiscard]] context* current() const noexcept { return stack.empty() ? nullptr : stack.back(); }

  // Returns the thread's default stream in a context, creating it at the first use. Throws
  // std::bad_alloc.
  stream& default_stream(context& owner);

  std::vector<context*> stack;  // the thread's context stack; the current context is last
  abi::CUstreamCaptureMode capture_mode = abi::CU_STREAM_CAPTURE_MODE_GLOBAL;
  allocation_cache recent_allocations;
  // True on the host function thread while it runs a host function of the program.
  bool in_host_function = false;

  thread_state() = default;
  thread_state(const thread_state&) = delete;
  thread_state& operator=(const thread_state&) = delete;
  ~thread_state();  // closes the default streams; work already submitted to them still completes

 private:
  struct default_entry {
    context* owner;
    // The context's generation when the stream was created; a reset of the context closes the
    // stream.
    unsigned long long generation;
    stream* stream_object;
    // The stream's handle, which is not returned to the program. Both the ending thread and the
    // ending context try to retire the handle. The one that succeeds closes the stream.
    const void* handle;
  };
  std::vector<default_entry> default_streams_;
};

// The state of the calling thread; null before its first driver call. It outlives the thread's
// thread_local objects, because their destructors may call the driver.
namespace detail {
extern constinit thread_local thread_state* this_thread_state [[gnu::tls_model("initial-exec")]];
thread_state& make_thread_state();
}  // namespace detail

// Returns the calling thread's state. Throws std::bad_alloc at the thread's first call.
inline thread_state& this_thread() {
  thread_state* const state = detail::this_thread_state;
  if (state == nullptr) [[unlikely]]
    return detail::make_thread_state();
  return *state;
}

}  // namespace weir::embedded::model
