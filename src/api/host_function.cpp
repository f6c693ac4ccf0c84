// api/host_function.cpp - closures on their way through a stream.
#include <weir/host_function.hpp>

#include "api/check.hpp"
#include "api/guard.hpp"
#include "api/host_failures.hpp"
#include "api/reclaimer.hpp"

#include <exception>
#include <mutex>
#include <new>

namespace weir {
namespace detail {
namespace {

// Blocks for closures: most are of one size and come and go by the thousand, so they are kept.
class block_pool {
 public:
  static constexpr std::size_t block_bytes = 128;
  static constexpr std::size_t most_kept = 4096;
  static_assert(sizeof(host_call) + 64 <= block_bytes, "closures up to 64 bytes cost no allocation");

  // Never destroyed: blocks come back while statics are destroyed.
  static block_pool& instance() {
    static block_pool& the_pool = *new block_pool;
    return the_pool;
  }

  void* take() {
    {
      const std::lock_guard lock{lock_};
      if (block* const first = free_) {
        free_ = first->next;
        --kept_;
        return first;
      }
    }
    return ::operator new(block_bytes);
  }

  void give_back(void* memory) noexcept {
    {
      const std::lock_guard lock{lock_};
      if (kept_ < most_kept) {
        free_ = ::new (memory) block{free_};
        ++kept_;
        return;
      }
    }
    ::operator delete(memory);
  }

 private:
  struct block {
    block* next;
  };

  std::mutex lock_;
  block* free_ = nullptr;
  std::size_t kept_ = 0;
};

// Destroys the closure here and now.
void discard(host_call& call) noexcept {
  if (call.destroy != nullptr) call.destroy(call);
  call.give_back(call);
}

// What the driver calls. It must not be left by an exception, and what the closure owns must not be destroyed here.
void CUDA_CB run_host_call(CUstream, CUresult status, void* data) {
  host_call& call = *static_cast<host_call*>(data);
  const host_function_mark mark;
  try {
    call.invoke(call, static_cast<errc>(status));
  } catch (...) {
    keep_host_failure({call.stream, call.owner}, std::current_exception());
  }
  if (call.destroy == nullptr) {
    call.give_back(call);
    return;
  }
  call.run = [](chore& self) noexcept {
    discard(static_cast<host_call&>(self));
    return chore_result::done;
  };
  leave_chore(call);
}

// A callback in a capture would break it, so it is refused before the driver sees it.
void refuse_in_capture(CUstream stream, call_site at) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  check(driver().cuStreamIsCapturing(stream, &status), "cuStreamIsCapturing", stream_ref{stream}, at);
  if (status == CU_STREAM_CAPTURE_STATUS_NONE) return;
  const bool active = status == CU_STREAM_CAPTURE_STATUS_ACTIVE;
  fail(active ? errc::stream_capture_unsupported : errc::stream_capture_invalidated, "cuStreamAddCallback",
       stream_ref{stream}, at);
}

}  // namespace

void* host_call_block(std::size_t bytes, std::size_t alignment, void (**give_back)(host_call&) noexcept) {
  if (bytes <= block_pool::block_bytes && alignment <= __STDCPP_DEFAULT_NEW_ALIGNMENT__) {
    *give_back = [](host_call& call) noexcept { block_pool::instance().give_back(&call); };
    return block_pool::instance().take();
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

void enqueue_host_call(stream_ref stream, host_call& call, call_site at) {
  constexpr const char* name = "cuStreamAddCallback";
  try {
    const CUstream handle = usable(stream, name, at);
    refuse_in_capture(handle, at);
    const stream_identity identity = identify(handle);
    call.stream = identity.handle;
    call.owner = identity.owner;
    check(driver().cuStreamAddCallback(handle, &run_host_call, &call, 0), name, stream, at);
  } catch (...) {
    discard(call);
    throw;
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
