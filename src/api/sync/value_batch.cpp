// SPDX-License-Identifier: Apache-2.0
// api/sync/value_batch.cpp - several waits and writes of words in one driver call.
#include <weir/sync/value_batch.hpp>

#include "api/core/check.hpp"
#include "api/sync/value_failure.hpp"
#include "api/sync/value_flags.hpp"

#include <fmt/format.h>

#include <cstring>
#include <vector>

namespace weir {

using step_params = abi::CUstreamBatchMemOpParams;

namespace {

// Returns the driver's description of a wait or write of a word. `operation` is the member of the
// union step_params for operations of this type.
template <class T>
step_params word_step(step_params::wait_value step_params::*operation,
                      abi::CUstreamBatchMemOpType type, wait_word_ref<T> word, T value,
                      unsigned flags, call_site at) {
  if (word.get() == detail::closed_handle<T>())
    detail::throw_closed_wait_word("weir::value_batch", at);
  step_params step{};
  step_params::wait_value& params = step.*operation;
  params.operation = type;
  params.address = detail::device_address(word.get());
  if constexpr (sizeof(T) == sizeof params.value64) {
    params.value64 = value;
  } else {
    params.value = value;
  }
  params.flags = flags;
  return step;
}

step_params barrier_step(unsigned barrier_type) noexcept {
  step_params step{};
  step.memoryBarrier = {abi::CU_STREAM_MEM_OP_BARRIER, barrier_type};
  return step;
}

}  // namespace

value_batch& value_batch::add(const void* operation, const detail::tracked_memory* owner) {
  static_assert(sizeof(step) == sizeof(step_params) && alignof(step) == alignof(step_params));
  step& added = steps_.emplace_back();
  std::memcpy(added.bytes, operation, sizeof added.bytes);
  try {
    owners_.push_back(owner);
  } catch (...) {
    steps_.pop_back();
    throw;
  }
  return *this;
}

value_batch& value_batch::wait(wait_word_ref<std::uint32_t> word, until condition,
                               std::uint32_t value, value_wait_options options, call_site at) {
  const step_params operation =
      word_step(&step_params::waitValue, abi::CU_STREAM_MEM_OP_WAIT_VALUE_32, word, value,
                detail::wait_flags(condition, options), at);
  return add(&operation, word.owner());
}

value_batch& value_batch::wait(wait_word_ref<std::uint64_t> word, until condition,
                               std::uint64_t value, value_wait_options options, call_site at) {
  const step_params operation =
      word_step(&step_params::waitValue, abi::CU_STREAM_MEM_OP_WAIT_VALUE_64, word, value,
                detail::wait_flags(condition, options), at);
  return add(&operation, word.owner());
}

value_batch& value_batch::write(wait_word_ref<std::uint32_t> word, std::uint32_t value,
                                call_site at) {
  const step_params operation =
      word_step(&step_params::writeValue, abi::CU_STREAM_MEM_OP_WRITE_VALUE_32, word, value,
                abi::CU_STREAM_WRITE_VALUE_DEFAULT, at);
  return add(&operation, word.owner());
}

value_batch& value_batch::write(wait_word_ref<std::uint64_t> word, std::uint64_t value,
                                call_site at) {
  const step_params operation =
      word_step(&step_params::writeValue, abi::CU_STREAM_MEM_OP_WRITE_VALUE_64, word, value,
                abi::CU_STREAM_WRITE_VALUE_DEFAULT, at);
  return add(&operation, word.owner());
}

value_batch& value_batch::barrier() {
  const step_params operation = barrier_step(abi::CU_STREAM_MEMORY_BARRIER_TYPE_SYS);
  return add(&operation, nullptr);
}

value_batch& value_batch::device_barrier() {
  const step_params operation = barrier_step(abi::CU_STREAM_MEMORY_BARRIER_TYPE_GPU);
  return add(&operation, nullptr);
}

value_batch& value_batch::flush() {
  step_params operation{};
  operation.flushRemoteWrites = {abi::CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES, 0};
  return add(&operation, nullptr);
}

void value_batch::clear() noexcept {
  steps_.clear();
  owners_.clear();
}

void value_batch::reserve(std::size_t size) {
  steps_.reserve(size);
  owners_.reserve(size);
}

value_batch value_batch::from_raw(const void* data, std::size_t count) {
  value_batch batch;
  batch.steps_.resize(count);
  batch.owners_.resize(count);
  if (count != 0) std::memcpy(batch.steps_.data(), data, count * sizeof(step));
  return batch;
}

void value_batch::submit(stream_ref stream, call_site at) const {
  constexpr const char* call = "cuStreamBatchMemOp";
  CUstream_st* const handle = detail::require_open(stream, call, at);
  if (empty()) return;
  if (size() > max_size) {
    detail::throw_error(
        errc::invalid_value, call, fmt::format("a batch of {}", size()),
        fmt::format(
            "the batch has more than {} operations, the driver's maximum; submit it in parts",
            max_size),
        at);
  }
  bool to_record = false;
  for (const detail::tracked_memory* const owner : owners_) {
    if (owner == nullptr || owner->is_untracked_on(stream)) continue;
    to_record |= owner->register_use(stream, at);
  }
  // const_cast is safe, because the driver only reads the operations, although its parameter is not
  // const.
  auto* const operations =
      const_cast<step_params*>(reinterpret_cast<const step_params*>(steps_.data()));
  const abi::CUresult answer =
      detail::driver().cuStreamBatchMemOp_v2(handle, static_cast<unsigned>(size()), operations, 0);
  if (answer != abi::CUDA_SUCCESS) [[unlikely]] {
    detail::throw_value_batch_error(answer, call, stream, {operations, size()}, owners_, at);
  }
  if (!to_record) return;
  for (const detail::tracked_memory* const owner : owners_) {
    if (owner != nullptr && !owner->is_untracked_on(stream)) owner->record_use(stream, at);
  }
}

}  // namespace weir
