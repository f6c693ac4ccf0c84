// SPDX-License-Identifier: Apache-2.0
// model/stream/transfer.cpp - staging of pageable sources, and waiting in synchronous calls.
#include "embedded/model/stream/transfer.hpp"

#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include "embedded/engine/waiting.hpp"
#include "embedded/model/core/context.hpp"
#include "embedded/model/core/host_waits.hpp"
#include "embedded/model/memory/pool/pool_registry.hpp"
#include "embedded/model/stream/stream.hpp"

namespace weir::embedded::model {

using namespace abi;

namespace {

// The sizes up to which an H200 stages a pageable source: for a single copy, and for a copy of a
// batch whose source may be read at any time.
constexpr std::size_t max_staged_bytes = std::size_t{2} << 20;
constexpr std::size_t max_staged_bytes_in_batch = std::size_t{64} << 10;

struct free_deleter {
  void operator()(void* block) const noexcept { std::free(block); }
};

// Submits work and blocks until it is complete. In a capture it does not block.
template <class Work>
CUresult submit_and_wait(stream& target_stream, const Work& work) {
  const bool captured = target_stream.capture() != nullptr;
  const CUresult status = target_stream.submit(work);
  if (status != CUDA_SUCCESS || captured) return status;
  engine::wait(target_stream.record());
  pool_registry::after_synchronize();
  return engine::device_failure();
}

// The ways in which an asynchronous call makes a copy.
enum class copy_plan : std::uint8_t {
  submit,          // returns at once; the stream reads the source when the copy's turn comes
  stage,           // reads the source at the call, then submits a copy of what it has read
  submit_and_wait  // returns when the copy is complete
};

bool both_on_host(const memory_operand& dst, const memory_operand& src) noexcept {
  return dst.on_host() && src.on_host();
}

// The plan for a call without a choice of the source's access order.
copy_plan plan_single(const memory_operand& dst, const memory_operand& src,
                      std::size_t bytes) noexcept {
  if (both_on_host(dst, src)) return copy_plan::submit_and_wait;
  if (!makes_allowed_waits()) return copy_plan::submit;
  if (dst.pageable() || dst.managed_host_side() || src.managed_host_side())
    return copy_plan::submit_and_wait;
  if (!src.pageable()) return copy_plan::submit;
  return bytes <= max_staged_bytes ? copy_plan::stage : copy_plan::submit_and_wait;
}

// The plan for a copy of a batch whose source is read before the call returns.
copy_plan plan_during_call(const memory_operand& dst, const memory_operand& src) noexcept {
  const bool stages = src.pageable() || (dst.pageable() && both_on_host(dst, src));
  return stages || !makes_allowed_waits() ? copy_plan::stage : copy_plan::submit_and_wait;
}

// Plans an asynchronous copy as an H200 does it; docs/driver/embedded-driver.md has the table. With
// host_waits::least, the call waits only between host memory, where CUDA documents that a single
// copy is synchronous, and stages a source only if it must be read during the call.
copy_plan plan_copy(const memory_operand& dst, const memory_operand& src, std::size_t bytes,
                    source_access_order source_order) noexcept {
  const bool loads_pageable = src.pageable() && !dst.on_host() && makes_allowed_waits();
  switch (source_order) {
    case source_access_order::as_cuda_chooses: return plan_single(dst, src, bytes);
    case source_access_order::during_call: return plan_during_call(dst, src);
    case source_access_order::in_stream_order:
      return loads_pageable ? copy_plan::submit_and_wait : copy_plan::submit;
    case source_access_order::any_order:
      return loads_pageable && bytes <= max_staged_bytes_in_batch ? copy_plan::stage
                                                                  : copy_plan::submit;
  }
  return copy_plan::submit_and_wait;
}

// Returns true if a synchronous call has to wait for its work on this memory.
bool must_wait(const memory_operand& operand) noexcept {
  return operand.on_host() || operand.sync_memops();
}

// Copies the source to staging memory. Returns work that copies from the staging memory.
copy_work stage_source(const copy_work& work, void* staging) {
  std::memcpy(staging, work.src, work.bytes);
  copy_work staged = work;
  staged.src = static_cast<const std::byte*>(staging);
  staged.staging = staging;
  return staged;
}

// Copies the source box to staging memory, without gaps between rows. Returns work that copies from
// there.
pitched_copy_work stage_source(const pitched_copy_work& work, void* staging) {
  pitched_copy_work reading = work;
  reading.dst = static_cast<std::byte*>(staging);
  reading.dst_pitch = work.width;
  reading.dst_slice = work.width * work.height;
  reading.copy_rows();
  pitched_copy_work staged = work;
  staged.src = reading.dst;
  staged.src_pitch = reading.dst_pitch;
  staged.src_slice = reading.dst_slice;
  staged.staging = staging;
  return staged;
}

template <class Work>
CUresult copy_staged(stream& target_stream, const Work& work, std::size_t bytes) {
  std::unique_ptr<void, free_deleter> staging{std::malloc(bytes)};
  if (staging == nullptr) throw std::bad_alloc{};
  const CUresult status = target_stream.submit(stage_source(work, staging.get()));
  if (status == CUDA_SUCCESS) staging.release();
  return status;
}

template <class Work>
CUresult copy_async(stream& target_stream, const memory_operand& dst, const memory_operand& src,
                    const Work& work, std::size_t bytes, source_access_order source_order) {
  if (target_stream.capture() != nullptr) return target_stream.submit(work);
  switch (plan_copy(dst, src, bytes, source_order)) {
    case copy_plan::submit: return target_stream.submit(work);
    case copy_plan::stage: return copy_staged(target_stream, work, bytes);
    case copy_plan::submit_and_wait: break;
  }
  return submit_and_wait(target_stream, work);
}

// Returns true if a synchronous copy may return before the device has the data: when the work
// before it is complete and the source has been read.
bool may_return_early(const stream& target_stream, const memory_operand& dst,
                      const memory_operand& src) noexcept {
  if (makes_allowed_waits() || !src.pageable() || must_wait(dst)) return false;
  const unsigned flags = target_stream.owner().base().flags.load(std::memory_order_relaxed);
  return (flags & CU_CTX_SYNC_MEMOPS) == 0 && target_stream.capture() == nullptr;
}

template <class Work>
CUresult copy_sync(stream& target_stream, const memory_operand& dst, const memory_operand& src,
                   const Work& work, std::size_t bytes) {
  if (!must_wait(dst) && !must_wait(src)) return target_stream.submit(work);
  if (!may_return_early(target_stream, dst, src)) return submit_and_wait(target_stream, work);
  engine::wait(target_stream.record());
  pool_registry::after_synchronize();
  if (const CUresult failure = engine::device_failure()) return failure;
  return copy_staged(target_stream, work, bytes);
}

}  // namespace

CUresult copy_async(stream& target_stream, const memory_operand& dst, const memory_operand& src,
                    std::size_t bytes, source_access_order source_order) {
  return copy_async(target_stream, dst, src, copy_work{dst.data, src.data, bytes}, bytes,
                    source_order);
}

CUresult copy_async(stream& target_stream, const memory_operand& dst, const memory_operand& src,
                    const pitched_copy_work& work, source_access_order source_order) {
  return copy_async(target_stream, dst, src, work, work.bytes(), source_order);
}

CUresult copy_sync(stream& target_stream, const memory_operand& dst, const memory_operand& src,
                   std::size_t bytes) {
  return copy_sync(target_stream, dst, src, copy_work{dst.data, src.data, bytes}, bytes);
}

CUresult copy_sync(stream& target_stream, const memory_operand& dst, const memory_operand& src,
                   const pitched_copy_work& work) {
  return copy_sync(target_stream, dst, src, work, work.bytes());
}

CUresult memset_sync(stream& target_stream, const memory_operand& dst, const memset_work& work) {
  return must_wait(dst) ? submit_and_wait(target_stream, work) : target_stream.submit(work);
}

}  // namespace weir::embedded::model
