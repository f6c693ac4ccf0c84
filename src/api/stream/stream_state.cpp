// SPDX-License-Identifier: Apache-2.0
// api/stream/stream_state.cpp - the streams that weir owns, and their destruction.
#include "api/stream/stream_state.hpp"

#include "api/completion/completion_access.hpp"
#include "api/deferred/reclaimer.hpp"
#include "api/device/green_state.hpp"
#include "api/device/make_current.hpp"
#include "api/profiler/names.hpp"
#include "api/stream/host_failures.hpp"
#include "os/forked_child.hpp"

#include <array>
#include <cstddef>
#include <mutex>

namespace weir::detail {
namespace {

// A bucket of a hash table with 256 buckets. Each bucket has a lock, so that threads with different
// streams rarely contend. The table is constant-initialized and never destroyed, because the
// program may have static stream objects.
struct bucket {
  std::mutex lock;
  stream_state* first = nullptr;
};

constinit std::array<bucket, 256> buckets;

bucket& bucket_of(CUstream handle) noexcept {
  // Handles are addresses or consecutive numbers. The multiplication makes the upper bits, which
  // select the bucket, depend on all bits.
  const std::uint64_t mixed =
      static_cast<std::uint64_t>(device_address(handle)) * 0x9e37'79b9'7f4a'7c15u;
  return buckets[mixed >> 56];
}

}  // namespace

bool is_captured(CUstream stream) noexcept {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  return driver().cuStreamIsCapturing(stream, &status) == CUDA_SUCCESS &&
         status == CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

stream_state::stream_state(CUstream stream, const stream_properties& initial_properties) noexcept
    : handle{stream}, properties{initial_properties} {
  bucket& b = bucket_of(handle);
  const std::lock_guard lock{b.lock};
  next_ = b.first;
  b.first = this;
}

stream_state* stream_state::find_in(stream_state* first, CUstream stream) noexcept {
  while (first != nullptr && first->handle != stream) first = first->next_;
  return first;
}

bool stream_state::acquire_if_alive() noexcept {
  // If the count is 0, another thread is destroying the stream, so the count must not increase.
  std::uint32_t now = holders_.load(std::memory_order_relaxed);
  while (now != 0) {
    if (holders_.compare_exchange_weak(now, now + 1, std::memory_order_relaxed)) return true;
  }
  return false;
}

stream_state* acquire_stream_state(CUstream stream, stream_holder holder) noexcept {
  bucket& b = bucket_of(stream);
  const std::lock_guard lock{b.lock};
  stream_state* const found = stream_state::find_in(b.first, stream);
  if (found == nullptr || !found->acquire_if_alive()) return nullptr;
  if (holder == stream_holder::user) found->users_.fetch_add(1, std::memory_order_relaxed);
  return found;
}

std::vector<stream_state_ref> acquire_all_streams() {
  std::vector<stream_state_ref> all;
  for (bucket& b : buckets) {
    const std::lock_guard lock{b.lock};
    for (stream_state* each = b.first; each != nullptr; each = each->next_) {
      if (all.size() == all.capacity()) all.reserve(2 * all.size() + 16);
      if (each->acquire_if_alive()) all.emplace_back(each);
    }
  }
  return all;
}

std::optional<stream_properties> find_stream_properties(CUstream stream) noexcept {
  bucket& b = bucket_of(stream);
  const std::lock_guard lock{b.lock};
  if (const stream_state* const found = stream_state::find_in(b.first, stream))
    return found->properties;
  return std::nullopt;
}

void remember_priority(CUstream stream, int priority) noexcept {
  bucket& b = bucket_of(stream);
  const std::lock_guard lock{b.lock};
  if (const stream_state* const found = stream_state::find_in(b.first, stream))
    found->properties.priority = priority;
}

completion_queue* queue_of_owned(CUstream stream) noexcept {
  bucket& b = bucket_of(stream);
  const std::lock_guard lock{b.lock};
  const stream_state* const found = stream_state::find_in(b.first, stream);
  return found != nullptr ? found->known_queue() : nullptr;
}

void remember_queue(CUstream stream, completion_queue& queue) noexcept {
  bucket& b = bucket_of(stream);
  const std::lock_guard lock{b.lock};
  if (stream_state* const found = stream_state::find_in(b.first, stream))
    found->queue_.store(&queue, std::memory_order_release);
}

void stream_state::unlink() noexcept {
  {
    bucket& b = bucket_of(handle);
    const std::lock_guard lock{b.lock};
    stream_state** link = &b.first;
    while (*link != this) link = &(*link)->next_;
    *link = next_;
  }
  streams_destroyed.fetch_add(1, std::memory_order_release);
  forget_queue(handle);
}

bool stream_state::disown() noexcept {
  std::uint32_t single_holder = 1;
  if (!holders_.compare_exchange_strong(single_holder, 0, std::memory_order_acq_rel)) return false;
  unlink();
  report_host_failures(handle, properties.id);
  if (properties.green != nullptr) properties.green->release_noexcept();
  delete this;
  return true;
}

errc stream_state::release(stream_holder holder, bool destroy_now) noexcept {
  if (os::in_forked_child()) return errc::success;  // the stream belongs to the parent
  if (holder == stream_holder::user) users_.fetch_sub(1, std::memory_order_release);
  if (holders_.fetch_sub(1, std::memory_order_acq_rel) != 1) return errc::success;
  // The stream is unregistered before it is destroyed, because the driver may reuse the handle
  // immediately.
  unlink();
  // A capturing stream is not destroyed now, because its destruction would silently end a capture
  // that began in it.
  if (destroy_now && !is_captured(handle)) return destroy();
  defer([this] {
    const CUstream stream = handle;
    if (is_captured(stream)) return task_result::capture_active;
    if (const errc answer = destroy(); answer != errc::success) {
      report_unhandled(answer, "cuStreamDestroy", stream_ref{stream});
    }
    return task_result::done;
  });
  return errc::success;
}

errc stream_state::destroy() noexcept {
  report_host_failures(handle, properties.id);
  forget_name(stream_ref{handle});
  const CUresult answer = driver().cuStreamDestroy_v2(handle);
  if (properties.green != nullptr) properties.green->release_noexcept();
  delete this;
  return static_cast<errc>(answer);
}

void stream_state::release_noexcept(stream_holder holder) noexcept {
  const CUstream stream = handle;
  if (const errc answer = release(holder, can_destroy_now()); answer != errc::success) {
    report_unhandled(answer, "cuStreamDestroy", stream_ref{stream});
  }
}

CUcontext context_of(CUstream stream, call_site at) {
  if (const auto owned = find_stream_properties(stream)) return owned->context;
  if (is_default(stream)) return current_context_handle(at);
  CUcontext context = nullptr;
  check(driver().cuStreamGetCtx(stream, &context), "cuStreamGetCtx", stream_ref{stream}, at);
  return context;
}

}  // namespace weir::detail
