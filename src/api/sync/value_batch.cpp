// SPDX-License-Identifier: Apache-2.0
// api/sync/value_batch.cpp - several waits and writes of words in one driver call.
#include <weir/sync/value_batch.hpp>

#include "api/core/check.hpp"
#include "api/memory/operand.hpp"
#include "api/sync/value_failure.hpp"
#include "api/sync/value_step.hpp"

#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <vector>

namespace weir {

using step_params = abi::CUstreamBatchMemOpParams;

namespace {

constexpr const char* value_batch_call = "weir::value_batch";

step_params barrier_step(unsigned barrier_type) noexcept {
  step_params step{};
  step.memoryBarrier = {abi::CU_STREAM_MEM_OP_BARRIER, barrier_type};
  return step;
}

// Returns the word of a wait or a write; no memory for other steps. `owner` is the word's owner.
detail::region word_of(const step_params& step, const detail::tracked_memory* owner) noexcept {
  switch (step.operation) {
    case abi::CU_STREAM_MEM_OP_WAIT_VALUE_32:
    case abi::CU_STREAM_MEM_OP_WAIT_VALUE_64:
    case abi::CU_STREAM_MEM_OP_WRITE_VALUE_32:
    case abi::CU_STREAM_MEM_OP_WRITE_VALUE_64:
      return {detail::to_pointer(step.waitValue.address), sizeof(std::uint32_t), owner};
    default: return {nullptr, 0, nullptr};
  }
}

}  // namespace

value_batch& value_batch::add(const step& operation, const detail::tracked_memory* owner) {
  steps_.push_back(operation);
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
      detail::word_step(abi::CU_STREAM_MEM_OP_WAIT_VALUE_32, word, value,
                        detail::wait_flags(condition, options), value_batch_call, at);
  return add(std::bit_cast<step>(operation), word.owner());
}

value_batch& value_batch::wait(wait_word_ref<std::uint64_t> word, until condition,
                               std::uint64_t value, value_wait_options options, call_site at) {
  const step_params operation =
      detail::word_step(abi::CU_STREAM_MEM_OP_WAIT_VALUE_64, word, value,
                        detail::wait_flags(condition, options), value_batch_call, at);
  return add(std::bit_cast<step>(operation), word.owner());
}

value_batch& value_batch::write(wait_word_ref<std::uint32_t> word, std::uint32_t value,
                                call_site at) {
  const step_params operation =
      detail::word_step(abi::CU_STREAM_MEM_OP_WRITE_VALUE_32, word, value,
                        abi::CU_STREAM_WRITE_VALUE_DEFAULT, value_batch_call, at);
  return add(std::bit_cast<step>(operation), word.owner());
}

value_batch& value_batch::write(wait_word_ref<std::uint64_t> word, std::uint64_t value,
                                call_site at) {
  const step_params operation =
      detail::word_step(abi::CU_STREAM_MEM_OP_WRITE_VALUE_64, word, value,
                        abi::CU_STREAM_WRITE_VALUE_DEFAULT, value_batch_call, at);
  return add(std::bit_cast<step>(operation), word.owner());
}

value_batch& value_batch::barrier() {
  return add(std::bit_cast<step>(barrier_step(abi::CU_STREAM_MEMORY_BARRIER_TYPE_SYS)), nullptr);
}

value_batch& value_batch::device_barrier() {
  return add(std::bit_cast<step>(barrier_step(abi::CU_STREAM_MEMORY_BARRIER_TYPE_GPU)), nullptr);
}

value_batch& value_batch::flush() {
  step_params operation{};
  operation.flushRemoteWrites = {abi::CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES, 0};
  return add(std::bit_cast<step>(operation), nullptr);
}

void value_batch::clear() noexcept {
  steps_.clear();
  owners_.clear();
}

void value_batch::reserve(std::size_t size) {
  steps_.reserve(size);
  owners_.reserve(size);
}

std::vector<detail::region> value_batch::words() const {
  std::vector<detail::region> words;
  words.reserve(size());
  for (std::size_t i = 0; i < size(); ++i)
    words.push_back(word_of(std::bit_cast<step_params>(steps_[i]), owners_[i]));
  return words;
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
  // const_cast is safe, because the driver only reads the steps, although its parameter is not
  // const.
  auto* const steps = const_cast<step_params*>(reinterpret_cast<const step_params*>(steps_.data()));
  detail::operand_list operands{stream};
  for (std::size_t i = 0; i < size(); ++i) operands.add(word_of(steps[i], owners_[i]), call, at);
  const abi::CUresult answer =
      detail::driver().cuStreamBatchMemOp_v2(handle, static_cast<unsigned>(size()), steps, 0);
  if (answer != abi::CUDA_SUCCESS) [[unlikely]] {
    detail::throw_value_batch_error(answer, call, stream, {steps, size()}, owners_, at);
  }
  operands.record_uses(at);
}

}  // namespace weir
