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

// Larger sources are not staged, because the second copy would cost more than the wait.
constexpr std::size_t max_staged_bytes = std::size_t{1} << 20;

struct free_deleter {
  void operator()(void* block) const noexcept { std::free(block); }
};

CUresult wait_for_submitted(stream& in) {
  engine::wait(in.record());
  pool_registry::after_synchronize();
  return engine::device_failure();
}

// Submits work and blocks until it is complete. In a capture it does not block.
template <class Work>
CUresult submit_and_wait(stream& in, const Work& work) {
  const bool captured = in.capture() != nullptr;
  const CUresult status = in.submit(work);
  if (status != CUDA_SUCCESS || captured) return status;
  return wait_for_submitted(in);
}

bool waits(const memory_operand& to, const memory_operand& from) noexcept {
  return to.on_host() || from.on_host() || to.sync_memops() || from.sync_memops();
}

using staging_memory = std::unique_ptr<void, free_deleter>;

staging_memory staging_of(std::size_t bytes) {
  staging_memory created{std::malloc(bytes)};
  if (created == nullptr) throw std::bad_alloc{};
  return created;
}

copy_work read_now(const copy_work& work, void* staging) {
  std::memcpy(staging, work.from, work.bytes);
  copy_work staged = work;
  staged.from = static_cast<const std::byte*>(staging);
  staged.staging = staging;
  return staged;
}

// Packs the box while reading it.
pitched_copy_work read_now(const pitched_copy_work& work, void* staging) {
  pitched_copy_work reading = work;
  reading.to = static_cast<std::byte*>(staging);
  reading.to_pitch = work.width;
  reading.to_slice = work.width * work.height;
  reading.run();
  pitched_copy_work staged = work;
  staged.from = reading.to;
  staged.from_pitch = reading.to_pitch;
  staged.from_slice = reading.to_slice;
  staged.staging = staging;
  return staged;
}

template <class Work>
CUresult copy_staged(stream& in, const Work& work, std::size_t bytes) {
  staging_memory staging = staging_of(bytes);
  const CUresult status = in.submit(read_now(work, staging.get()));
  if (status == CUDA_SUCCESS) staging.release();
  return status;
}

template <class Work>
CUresult copy_async(stream& in, const memory_operand& to, const memory_operand& from,
                    const Work& work, std::size_t bytes, source_access_order reading) {
  const bool reads_now = reading == source_access_order::during_call;
  const bool device_only = !from.pageable() && !to.pageable() && !reads_now;
  if (device_only || in.capture() != nullptr) return in.submit(work);
  if (to.pageable() || bytes > max_staged_bytes) return submit_and_wait(in, work);
  return copy_staged(in, work, bytes);
}

}  // namespace

CUresult copy_async(stream& in, const memory_operand& to, const memory_operand& from,
                    std::size_t bytes, source_access_order reading) {
  return copy_async(in, to, from, copy_work{to.at, from.at, bytes}, bytes, reading);
}

CUresult copy_async(stream& in, const memory_operand& to, const memory_operand& from,
                    const pitched_copy_work& work, source_access_order reading) {
  return copy_async(in, to, from, work, work.bytes(), reading);
}

CUresult copy_sync(stream& in, const memory_operand& to, const memory_operand& from,
                   std::size_t bytes) {
  const copy_work work{to.at, from.at, bytes};
  return waits(to, from) ? submit_and_wait(in, work) : in.submit(work);
}

CUresult copy_sync(stream& in, const memory_operand& to, const memory_operand& from,
                   const pitched_copy_work& work) {
  return waits(to, from) ? submit_and_wait(in, work) : in.submit(work);
}

CUresult memset_sync(stream& in, const memory_operand& to, const memset_work& work) {
  return to.on_host() || to.sync_memops() ? submit_and_wait(in, work) : in.submit(work);
}

}  // namespace weir::embedded::model
