// api/stream/host_function.cpp - closures on their way through a stream.
#include <weir/stream/host_function.hpp>

#include "api/capture/capture_registry.hpp"
#include "api/core/check.hpp"
#include "api/core/guard.hpp"
#include "api/stream/host_failures.hpp"
#include "api/deferred/reclaimer.hpp"
#include "api/core/unraised.hpp"
#include "driver/verify.hpp"

#include <atomic>
#include <exception>
#include <new>
#include <utility>

namespace weir {
namespace detail {
namespace {

// Blocks for closures: most are of one size and come and go by the thousand, so they are kept. A thread takes all that have
// come back at once and then has some of its own, so that no lock is needed.
class block_pool {
 public:
  static constexpr std::size_t block_bytes = 128;
  static constexpr std::size_t most_kept = 4096;
  static_assert(sizeof(host_call) + 64 <= block_bytes, "closures up to 64 bytes cost no allocation");

  static void* take() {
    if (own_ == nullptr && !ended_) {
      own_ = back_.exchange(nullptr, std::memory_order_acquire);
      kept_.store(0, std::memory_order_relaxed);
      static thread_local const at_end give_back_own;
    }
    if (own_ == nullptr) return ::operator new(block_bytes);
    return std::exchange(own_, own_->next);
  }

  // From any thread, also while statics are destroyed.
  static void give_back(void* memory) noexcept {
    // Those that are just on their way may be counted wrongly once; the next take() counts anew.
    if (kept_.fetch_add(1, std::memory_order_relaxed) >= most_kept) {
      ::operator delete(memory);
      return;
    }
    auto* const mine = ::new (memory) block{back_.load(std::memory_order_relaxed)};
    while (!back_.compare_exchange_weak(mine->next, mine, std::memory_order_release, std::memory_order_relaxed)) {
    }
  }

 private:
  struct block {
    block* next;
  };
  struct at_end {
    ~at_end() {
      ended_ = true;
      while (own_ != nullptr) give_back(std::exchange(own_, own_->next));
    }
  };

  static inline constinit std::atomic<block*> back_{nullptr};
  static inline constinit std::atomic<std::size_t> kept_{0};
  static inline constinit thread_local block* own_ = nullptr;
  static inline constinit thread_local bool ended_ = false;
};

// Destroys the closure here and now.
void discard(host_call& call) noexcept {
  if (call.destroy != nullptr) call.destroy(call);
  call.give_back(call);
}

// The same, on weir's own thread: in the driver's nothing may be destroyed that could make a CUDA call.
void discard_elsewhere(host_call& call) noexcept {
  if (call.destroy == nullptr) {
    call.give_back(call);
    return;
  }
  call.run = [](chore& self) noexcept {
    discard(static_cast<host_call&>(self));
    return chore_result::done;
  };
  leave_program_chore(call);
}

// What the driver calls. It must not be left by an exception.
void CUDA_CB run_once(CUstream, CUresult status, void* data) {
  host_call& call = *static_cast<host_call*>(data);
  const host_function_mark mark;
  try {
    call.invoke(call, static_cast<errc>(status));
  } catch (...) {
    keep_host_failure({call.stream, call.owner}, std::current_exception());
  }
  discard_elsewhere(call);
}

// The same at each launch of a graph.
void CUDA_CB run_captured(void* data) {
  host_call& call = *static_cast<host_call*>(data);
  const host_function_mark mark;
  try {
    call.invoke(call, errc::success);
  } catch (...) {
    raise_to_hook(std::current_exception());
  }
}

// When the last graph, executable and launch with it are gone.
void CUDA_CB end_captured(void* data) { discard_elsewhere(*static_cast<host_call*>(data)); }

// Adds the call to the graph that the stream is captured into. `ours` tells whether the block is still the caller's
// when this throws.
void capture(CUstream stream, host_call& call, bool& ours, call_site at) {
  const stream_ref on{stream};
  const CUgraph graph = capture_part_of(stream, at).graph;
  CUuserObject owner = nullptr;
  check(driver().cuUserObjectCreate(&owner, &call, &end_captured, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC),
        "cuUserObjectCreate", on, at);
  ours = false;
  const char* name = "cuGraphRetainUserObject";
  CUresult answer = driver().cuGraphRetainUserObject(graph, owner, 1, CU_GRAPH_USER_OBJECT_MOVE);
  const bool owned_by_graph = answer == CUDA_SUCCESS;
  if (owned_by_graph) {
    name = "cuLaunchHostFunc";
    answer = driver().cuLaunchHostFunc(stream, &run_captured, &call);
    if (answer == CUDA_SUCCESS) return;
  }
  // The closure goes here, on the thread of the caller; the block goes with the user object, which refers to it.
  if (call.destroy != nullptr) call.destroy(call);
  call.destroy = nullptr;
  if (owned_by_graph) {
    check_unraised(driver().cuGraphReleaseUserObject(graph, owner, 1), "cuGraphReleaseUserObject", on);
  } else {
    check_unraised(driver().cuUserObjectRelease(owner, 1), "cuUserObjectRelease", on);
  }
  check(answer, name, on, at);
}

}  // namespace

void* host_call_block(std::size_t bytes, std::size_t alignment, void (**give_back)(host_call&) noexcept) {
  if (bytes <= block_pool::block_bytes && alignment <= __STDCPP_DEFAULT_NEW_ALIGNMENT__) {
    *give_back = [](host_call& call) noexcept { block_pool::give_back(&call); };
    return block_pool::take();
  }
  if (alignment <= __STDCPP_DEFAULT_NEW_ALIGNMENT__) {
    *give_back = [](host_call& call) noexcept { ::operator delete(&call); };
    return ::operator new(bytes);
  }
  // Nobody needs a closure aligned to more than a page; all of these share one alignment, so that it need not be kept.
  constexpr std::align_val_t page{4096};
  *give_back = [](host_call& call) noexcept { ::operator delete(&call, page); };
  return ::operator new(bytes, page);
}

void enqueue_host_call(stream_ref stream, host_call& call, host_call_use use, call_site at) {
  constexpr const char* name = "cuStreamAddCallback";
  bool ours = true;
  const CUstream handle = stream.get();
  try {
    static_cast<void>(usable(stream, name, at));
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    check(driver().cuStreamIsCapturing(handle, &status), "cuStreamIsCapturing", stream, at);
    if (status == CU_STREAM_CAPTURE_STATUS_INVALIDATED) fail(errc::stream_capture_invalidated, name, stream, at);
    if (status == CU_STREAM_CAPTURE_STATUS_ACTIVE) {
      if (use == host_call_use::once) fail(errc::stream_capture_unsupported, name, stream, at);
      capture(handle, call, ours, at);
      return;
    }
    const stream_identity identity = identify(handle);
    call.stream = identity.handle;
    call.owner = identity.owner;
    check(driver().cuStreamAddCallback(handle, &run_once, &call, 0), name, stream, at);
  } catch (...) {
    if (ours) discard(call);
    throw;
  }
  if (verifying()) [[unlikely]] {
    throw_host_failure_if_any(handle);  // it has run by now
  }
}

}  // namespace detail

void launch_host(stream_ref stream, void (*function)(void* data), void* data, call_site at) {
  if (function == nullptr) {
    detail::fail(errc::invalid_value, "cuStreamAddCallback", stream, at);
  }
  launch_host(
      stream, [function, data] { function(data); }, at);
}

}  // namespace weir
