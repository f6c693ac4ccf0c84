// SPDX-License-Identifier: Apache-2.0
// api/stream/host_function.cpp - closures that a stream runs on the host.
#include <weir/stream/host_function.hpp>

#include "api/capture/capture_checks.hpp"
#include "api/capture/capture_registry.hpp"
#include "api/core/call_restrictions.hpp"
#include "api/core/check.hpp"
#include "api/core/unhandled_error.hpp"
#include "api/deferred/reclaimer.hpp"
#include "api/graph/user_object.hpp"
#include "api/stream/host_failures.hpp"
#include "driver/verify.hpp"

#include <atomic>
#include <exception>
#include <memory>
#include <new>
#include <utility>

namespace weir {
namespace detail {
namespace {

// A cache of memory blocks of one size, which fits most closures. Any thread returns blocks to a
// shared list. A thread that needs a block takes all blocks of that list into its own list and then
// allocates from there, so no lock is needed.
class block_pool {
 public:
  static constexpr std::size_t block_bytes = 128;
  static constexpr std::size_t max_returned = 4096;
  static_assert(sizeof(host_call) + 64 <= block_bytes,
                "closures up to 64 bytes cost no allocation");

  static void* allocate() {
    if (local_ == nullptr && !ended_) {
      local_ = returned_.exchange(nullptr, std::memory_order_acquire);
      returned_count_.store(0, std::memory_order_relaxed);
      static thread_local const thread_exit_hook return_local_blocks;
    }
    if (local_ == nullptr) return ::operator new(block_bytes);
    return std::exchange(local_, local_->next);
  }

  // May be called from any thread, also while statics are destroyed.
  static void deallocate(void* memory) noexcept {
    // The count is approximate: allocate() takes the list and resets the count in two steps, and
    // another thread may return a block in between. Each reset starts from 0, so errors do not add
    // up.
    if (returned_count_.fetch_add(1, std::memory_order_relaxed) >= max_returned) {
      ::operator delete(memory);
      return;
    }
    auto* const new_block = ::new (memory) block{returned_.load(std::memory_order_relaxed)};
    while (!returned_.compare_exchange_weak(new_block->next, new_block, std::memory_order_release,
                                            std::memory_order_relaxed)) {
    }
  }

 private:
  struct block {
    block* next;
  };
  struct thread_exit_hook {
    ~thread_exit_hook() {
      ended_ = true;
      while (local_ != nullptr) deallocate(std::exchange(local_, local_->next));
    }
  };

  static inline constinit std::atomic<block*> returned_{nullptr};  // the shared list
  static inline constinit std::atomic<std::size_t> returned_count_{0};
  static inline constinit thread_local block* local_ = nullptr;  // the list of this thread
  static inline constinit thread_local bool ended_ = false;      // no hook returns blocks any more
};

// Destroys the closure and frees its block, on this thread.
void discard(host_call& call) noexcept {
  if (call.destroy != nullptr) call.destroy(call);
  call.deallocate(call);
}

struct discard_call {
  void operator()(host_call* call) const noexcept { discard(*call); }
};
// A call that no stream or graph owns yet.
using unused_call = std::unique_ptr<host_call, discard_call>;

// Like discard(), but runs the closure's destructor, if any, on the reclaimer thread. Called on the
// driver's thread, where a destructor must not make CUDA calls.
void discard_deferred(host_call& call) noexcept {
  if (call.destroy == nullptr) {
    call.deallocate(call);
    return;
  }
  call.run = [](deferred_task& self) noexcept {
    discard(static_cast<host_call&>(self));
    return task_result::done;
  };
  defer_user_destructor(call);
}

// The callback for a function that runs once. Stores an exception for the next sync() of the
// stream, because it must not reach the driver.
void CUDA_CB run_once(CUstream, CUresult status, void* data) {
  host_call& call = *static_cast<host_call*>(data);
  const host_function_guard mark;
  try {
    call.invoke(call, static_cast<errc>(status));
  } catch (...) {
    store_host_failure({call.stream, call.owner}, std::current_exception());
  }
  discard_deferred(call);
}

// The callback for a captured function, which each launch of the graph runs. Passes an exception to
// the unhandled error handler, because it must not reach the driver.
void CUDA_CB run_captured(void* data) {
  host_call& call = *static_cast<host_call*>(data);
  const host_function_guard mark;
  try {
    call.invoke(call, errc::success);
  } catch (...) {
    call_unhandled_error_handler(std::current_exception());
  }
}

// The driver calls this function when no graph, executable or launch refers to the closure any
// more.
void CUDA_CB destroy_captured(void* data) { discard_deferred(*static_cast<host_call*>(data)); }

// Adds the call to the graph that the stream is captured into.
void capture_host_call(CUstream stream, unused_call unused, call_site at) {
  const stream_ref object{stream};
  const CUgraph graph = query_capture(stream, at).graph;
  const CUuserObject owner = create_user_object(unused.get(), &destroy_captured, object, at);
  host_call& call = *unused.release();  // the user object owns it
  const char* name = "cuGraphRetainUserObject";
  CUresult answer = driver().cuGraphRetainUserObject(graph, owner, 1, CU_GRAPH_USER_OBJECT_MOVE);
  const bool owned_by_graph = answer == CUDA_SUCCESS;
  if (owned_by_graph) {
    name = "cuLaunchHostFunc";
    answer = driver().cuLaunchHostFunc(stream, &run_captured, &call);
    if (answer == CUDA_SUCCESS) return;
  }
  // A call failed. Destroys the closure on this thread. The block stays until the driver destroys
  // the user object, which refers to it.
  if (call.destroy != nullptr) call.destroy(call);
  call.destroy = nullptr;
  if (owned_by_graph) {
    report_if_failed(driver().cuGraphReleaseUserObject(graph, owner, 1), "cuGraphReleaseUserObject",
                     object);
  } else {
    report_if_failed(driver().cuUserObjectRelease(owner, 1), "cuUserObjectRelease", object);
  }
  check(answer, name, object, at);
}

}  // namespace

void* allocate_host_call(std::size_t bytes, std::size_t alignment,
                         void (**deallocate)(host_call&) noexcept) {
  if (bytes <= block_pool::block_bytes && alignment <= __STDCPP_DEFAULT_NEW_ALIGNMENT__) {
    *deallocate = [](host_call& call) noexcept { block_pool::deallocate(&call); };
    return block_pool::allocate();
  }
  if (alignment <= __STDCPP_DEFAULT_NEW_ALIGNMENT__) {
    *deallocate = [](host_call& call) noexcept { ::operator delete(&call); };
    return ::operator new(bytes);
  }
  // Every larger alignment is rounded up to one page, so that the alignment need not be stored for
  // the deallocation. No closure needs more.
  constexpr std::align_val_t page{4096};
  *deallocate = [](host_call& call) noexcept { ::operator delete(&call, page); };
  return ::operator new(bytes, page);
}

void enqueue_host_call(stream_ref stream, host_call& call, host_call_use use, call_site at) {
  constexpr const char* name = "cuStreamAddCallback";
  unused_call unused{&call};
  const CUstream handle = require_open(stream, name, at);
  const CUstreamCaptureStatus status = query_capture_status(handle, at);
  if (status == CU_STREAM_CAPTURE_STATUS_INVALIDATED)
    throw_error(errc::stream_capture_invalidated, name, stream, at);
  if (status == CU_STREAM_CAPTURE_STATUS_ACTIVE) {
    if (use == host_call_use::once) throw_error(errc::stream_capture_unsupported, name, stream, at);
    return capture_host_call(handle, std::move(unused), at);
  }
  const stream_identity identity = identify(handle);
  call.stream = identity.handle;
  call.owner = identity.owner;
  check(driver().cuStreamAddCallback(handle, &run_once, &call, 0), name, stream, at);
  static_cast<void>(unused.release());  // run_once() frees the call, and may have done so already
  if (verifying()) [[unlikely]] {
    throw_host_failure_if_any(handle);  // in verify mode the function has run by now
  }
}

}  // namespace detail

void launch_host(stream_ref stream, void (*function)(void* data), void* data, call_site at) {
  if (function == nullptr) {
    detail::throw_error(errc::invalid_value, "cuStreamAddCallback", stream, at);
  }
  launch_host(
      stream, [function, data] { function(data); }, at);
}

}  // namespace weir
