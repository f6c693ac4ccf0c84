// SPDX-License-Identifier: Apache-2.0
// api/sync/value_wait.cpp - one wait for a word, or one write to it.
#include <weir/sync/value_wait.hpp>

#include "api/core/check.hpp"
#include "api/memory/operand.hpp"
#include "api/sync/value_failure.hpp"
#include "api/sync/value_step.hpp"

namespace weir {
namespace {

// A wait or write of a word: the driver's function, and the type of the batch step for that
// operation, which the error messages use.
template <class Value>
struct word_operation {
  const char* call;
  abi::CUresult (*detail::driver_table::*function)(abi::CUstream, abi::CUdeviceptr, Value,
                                                   unsigned);
  abi::CUstreamBatchMemOpType batch_type;
};

constexpr word_operation<abi::cuuint32_t> wait_32{"cuStreamWaitValue32",
                                                  &detail::driver_table::cuStreamWaitValue32_v2,
                                                  abi::CU_STREAM_MEM_OP_WAIT_VALUE_32};
constexpr word_operation<abi::cuuint64_t> wait_64{"cuStreamWaitValue64",
                                                  &detail::driver_table::cuStreamWaitValue64_v2,
                                                  abi::CU_STREAM_MEM_OP_WAIT_VALUE_64};
constexpr word_operation<abi::cuuint32_t> write_32{"cuStreamWriteValue32",
                                                   &detail::driver_table::cuStreamWriteValue32_v2,
                                                   abi::CU_STREAM_MEM_OP_WRITE_VALUE_32};
constexpr word_operation<abi::cuuint64_t> write_64{"cuStreamWriteValue64",
                                                   &detail::driver_table::cuStreamWriteValue64_v2,
                                                   abi::CU_STREAM_MEM_OP_WRITE_VALUE_64};

template <class Value, class T>
void enqueue_operation(const word_operation<Value>& operation, stream_ref stream,
                       wait_word_ref<T> word, T value, unsigned flags, call_site at) {
  CUstream_st* const handle = detail::require_open(stream, operation.call, at);
  if (word.get() == detail::closed_handle<T>()) [[unlikely]] {
    detail::throw_closed_wait_word(operation.call, at);
  }
  const detail::operand memory{detail::region{word.get(), sizeof(T), word.owner()}, stream,
                               operation.call, at};
  const abi::CUresult answer = (detail::driver().*operation.function)(
      handle, detail::device_address(word.get()), value, flags);
  if (answer != abi::CUDA_SUCCESS) [[unlikely]] {
    detail::throw_value_error(
        answer, operation.call, stream,
        detail::word_step(operation.batch_type, word, value, flags, operation.call, at),
        word.owner(), at);
  }
  memory.record_uses(at);
}

}  // namespace

void wait_value(stream_ref stream, wait_word_ref<std::uint32_t> word, until condition,
                std::uint32_t value, value_wait_options options, call_site at) {
  enqueue_operation(wait_32, stream, word, value, detail::wait_flags(condition, options), at);
}

void wait_value(stream_ref stream, wait_word_ref<std::uint64_t> word, until condition,
                std::uint64_t value, value_wait_options options, call_site at) {
  enqueue_operation(wait_64, stream, word, value, detail::wait_flags(condition, options), at);
}

void write_value(stream_ref stream, wait_word_ref<std::uint32_t> word, std::uint32_t value,
                 call_site at) {
  enqueue_operation(write_32, stream, word, value, abi::CU_STREAM_WRITE_VALUE_DEFAULT, at);
}

void write_value(stream_ref stream, wait_word_ref<std::uint64_t> word, std::uint64_t value,
                 call_site at) {
  enqueue_operation(write_64, stream, word, value, abi::CU_STREAM_WRITE_VALUE_DEFAULT, at);
}

}  // namespace weir
