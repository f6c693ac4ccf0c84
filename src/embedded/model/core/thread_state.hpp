// model/thread_state.hpp - what the driver keeps for each thread of the program.
#pragma once

#include <vector>

#include "driver/abi.hpp"
#include "embedded/model/memory/allocation_cache.hpp"

namespace weir::embedded::model {

class context;
class stream;

// Made at a thread's first call of the driver, ended with the thread. Used by its own thread only.
class thread_state {
 public:
  // The top of the thread's stack of contexts; null where it is empty.
  [[nodiscard]] context* current() const noexcept { return stack.empty() ? nullptr : stack.back(); }

  // The thread's default stream in a context, made at its first use. Throws std::bad_alloc.
  stream& default_stream(context& in);

  std::vector<context*> stack;
  abi::CUstreamCaptureMode capture_mode = abi::CU_STREAM_CAPTURE_MODE_GLOBAL;
  allocation_cache recent_allocations;
  bool in_host_function =
      false;  // the driver's own thread, while it runs a function of the program

  thread_state() = default;
  thread_state(const thread_state&) = delete;
  thread_state& operator=(const thread_state&) = delete;
  ~thread_state();  // what its default streams still have to do goes on without it

 private:
  struct default_entry {
    context* in;
    unsigned long long generation;  // of the context when the stream was made: a reset ends it
    stream* stream_object;
    const void* handle;  // nobody is told it; whoever retires it, the thread or the context, closes
                         // the stream
  };
  std::vector<default_entry> default_streams_;
};

// Every call of the driver asks for it. It lives until after the thread's thread_local objects are
// gone, since their destructors may call the driver, too.
namespace detail {
extern constinit thread_local thread_state* this_thread_state [[gnu::tls_model("initial-exec")]];
thread_state& make_thread_state();
}  // namespace detail

// The calling thread's. Throws std::bad_alloc at its first call.
inline thread_state& this_thread() {
  thread_state* const state = detail::this_thread_state;
  if (state == nullptr) [[unlikely]]
    return detail::make_thread_state();
  return *state;
}

}  // namespace weir::embedded::model
