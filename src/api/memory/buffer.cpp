// api/memory/buffer.cpp - device memory in the order of a stream.
#include <weir/memory/buffer.hpp>

#include "api/capture/captures.hpp"
#include "api/capture/relaxed_capture_mode.hpp"
#include "api/core/check.hpp"
#include "api/device/green_state.hpp"
#include "api/device/make_current.hpp"
#include "api/device/primary_context.hpp"
#include "api/memory/captured_memory.hpp"
#include "api/memory/frees_in_captures.hpp"
#include "api/memory/pool_allocation.hpp"
#include "api/stream/host_failures.hpp"
#include "api/stream/stream_state.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

namespace weir::detail {

stream_memory::stream_memory(stream_ref stream, std::size_t count, std::size_t element_bytes,
                             call_site at) {
  allocate(nullptr, stream, count, element_bytes, at);
}

stream_memory::stream_memory(const memory_pool_ref& pool, stream_ref stream, std::size_t count,
                             std::size_t element_bytes, call_site at) {
  allocate(&pool, stream, count, element_bytes, at);
}

// From a pool, or from the device's current one.
void stream_memory::allocate(const memory_pool_ref* pool, stream_ref stream, std::size_t count,
                             std::size_t element_bytes, call_site at) {
  const char* const call = pool != nullptr ? "cuMemAllocFromPoolAsync" : "cuMemAllocAsync";
  const CUstream handle = require_open(stream, call, at);
  if (pool != nullptr) require_open(*pool, call, at);
  if (count > std::numeric_limits<std::ptrdiff_t>::max() / element_bytes) {
    throw_error(errc::out_of_memory, call, stream, at);
  }
  const std::size_t bytes = count * element_bytes;
  bind_to(stream, at);
  CUdeviceptr address = 0;
  try {
    // A copy between devices has to know where the memory is. A default stream is one of its
    // context.
    if (pool != nullptr && !is_default(handle) &&
        context_info_of(device_context_, at).device != pool->device().ordinal()) {
      device_context_ = primary_context(pool->device(), at);
    }
    if (bytes != 0 && any_capture_active()) set_capture(capture_id_of(handle));
    if (bytes != 0 && pool != nullptr) address = allocate_from(*pool, stream, bytes, at);
    if (bytes != 0 && pool == nullptr) {
      if (capture_ != 0) throw_if_memory_in_body(capture_, handle, call, at);
      const relaxed_mode_if_capturing guard{at};
      check(driver().cuMemAllocAsync(&address, bytes, handle), call, stream, at);
    }
  } catch (...) {
    if (state_ != nullptr) state_->release_noexcept(stream_holder::user);
    if (capture_ != 0) remove_captured_memory(capture_);
    throw;
  }
  address_ = reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
  bytes_ = bytes;
}

// It is made in that capture; 0 for none.
void stream_memory::set_capture(unsigned long long id) {
  if (id != 0) add_captured_memory(id);
  capture_ = id;
}

stream_memory stream_memory::adopt(stream_ref stream, void* address, std::size_t bytes,
                                   call_site at) {
  constexpr const char* call = "weir::buffer::adopt";
  require_open(stream, call, at);
  if (address == nullptr && bytes != 0) {
    throw_error(errc::invalid_value, call, "null", "there is no memory to take over", at);
  }
  stream_memory adopted;
  adopted.bind_to(stream, at);
  adopted.address_ = address;
  adopted.bytes_ = bytes;
  return adopted;
}

// Throws before anything has changed.
void stream_memory::bind_to(stream_ref stream, call_site at) {
  const CUstream handle = stream.get();
  CUcontext context = context_of(handle, at);
  if (context == nullptr) throw_error(errc::invalid_context, "cuMemAllocAsync", stream, at);
  if (!is_default(handle)) context = memory_context(context, at);
  stream_state* const before = std::exchange(
      state_, is_default(handle) ? nullptr : acquire_stream_state(handle, stream_holder::user));
  stream_ = handle;
  device_context_ = context;
  untracked_streams_[0] = is_default(handle) ? closed_handle<CUstream_st>() : handle;
  untracked_default_stream_ = is_default(handle) ? handle : closed_handle<CUstream_st>();
  per_thread_owner_ = handle == CU_STREAM_PER_THREAD ? unique_thread_id() : 0;
  if (before != nullptr) before->release_noexcept(stream_holder::user);
}

stream_memory::stream_memory(stream_memory&& other) noexcept
    : stream_{std::exchange(other.stream_, closed_handle<CUstream_st>())},
      state_{std::exchange(other.state_, nullptr)},
      capture_{std::exchange(other.capture_, 0)} {
  move_from(other);
}

stream_memory& stream_memory::operator=(stream_memory&& other) noexcept {
  if (this == &other) return *this;
  const stream_memory old{std::move(*this)};
  move_from(other);
  stream_ = std::exchange(other.stream_, closed_handle<CUstream_st>());
  state_ = std::exchange(other.state_, nullptr);
  capture_ = std::exchange(other.capture_, 0);
  return *this;
}

void stream_memory::set_stream(stream_ref stream, call_site at) {
  constexpr const char* call = "weir::buffer::set_stream";
  require_open(stream, call, at);
  if (closed()) throw_closed(call, subject::memory(address_), at);
  const CUcontext where = device_context_;
  const make_current current{where, at};
  stream.wait(reachable_stream(), at);
  bind_to(stream, at);
  device_context_ = where;  // whatever device the stream is of, the memory stays where it is
}

void* stream_memory::release(call_site at) {
  require_outside_host_function("weir::buffer::release", subject::memory(address_),
                                at);  // events of its uses may have to be destroyed
  if (closed()) throw_closed("weir::buffer::release", subject::memory(address_), at);
  void* const address = address_;
  release_resources();
  return address;
}

// Its own stream, or one that is as good: no other thread can name the per-thread default stream of
// this one, but the legacy stream waits for all of them.
CUstream stream_memory::reachable_stream() const noexcept {
  const bool elsewhere = stream_ == CU_STREAM_PER_THREAD && per_thread_owner_ != unique_thread_id();
  return elsewhere ? CU_STREAM_LEGACY : stream_;
}

}  // namespace weir::detail
