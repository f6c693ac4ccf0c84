// SPDX-License-Identifier: Apache-2.0
// model/stream/transfer.cpp - staging of pageable sources, and waiting in synchronous calls.
#include "embedded/model/stream/transfer.hpp"

#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include "embedded/engine/waiting.hpp"
#include "embedded/model/memory/pool/pool_registry.hpp"
#include "embedded/model/stream/stream.hpp"

namespace weir::embedded::model {

using namespace abi;

namespace {

// Sources up to this size are staged. For larger ones the second copy would cost more than blocking
// the call.
constexpr std::size_t max_staged_bytes = std::size_t{1} << 20;

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
  reading.run();
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
  const bool reads_now = source_order == source_access_order::during_call;
  const bool device_only = !src.pageable() && !dst.pageable() && !reads_now;
  if (device_only || target_stream.capture() != nullptr) return target_stream.submit(work);
  if (dst.pageable() || bytes > max_staged_bytes) return submit_and_wait(target_stream, work);
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
  const copy_work work{dst.data, src.data, bytes};
  return must_wait(dst) || must_wait(src) ? submit_and_wait(target_stream, work)
                                          : target_stream.submit(work);
}

CUresult copy_sync(stream& target_stream, const memory_operand& dst, const memory_operand& src,
                   const pitched_copy_work& work) {
  return must_wait(dst) || must_wait(src) ? submit_and_wait(target_stream, work)
                                          : target_stream.submit(work);
}

CUresult memset_sync(stream& target_stream, const memory_operand& dst, const memset_work& work) {
  return must_wait(dst) ? submit_and_wait(target_stream, work) : target_stream.submit(work);
}

}  // namespace weir::embedded::model
