// SPDX-License-Identifier: Apache-2.0
// api/sync/value_wait.cpp - one wait for a word, or one write to it.
#include <weir/sync/value_wait.hpp>

#include "api/core/check.hpp"
#include "api/memory/operand.hpp"
#include "api/sync/value_failure.hpp"
#include "api/sync/value_flags.hpp"

namespace weir {
namespace {

using detail::device_address;
using detail::driver;

// Registers the memory of an operation on a word. Throws if the word is closed.
template <class T>
[[nodiscard]] detail::operand operand_of(wait_word_ref<T> word, stream_ref stream, const char* call,
                                         call_site at) {
  if (word.get() == detail::closed_handle<T>()) [[unlikely]] {
    detail::throw_closed_wait_word(call, at);
  }
  return detail::operand{detail::region{word.get(), sizeof(T), word.owner()}, stream, call, at};
}

// Throws the error for an operation that the driver has refused, described as a step of a batch.
template <class T>
[[noreturn, gnu::cold]] void throw_for_word(abi::CUresult answer, const char* call,
                                            stream_ref stream, wait_word_ref<T> word,
                                            abi::CUstreamBatchMemOpType type, unsigned flags,
                                            call_site at) {
  abi::CUstreamBatchMemOpParams step{};
  step.waitValue.operation = type;
  step.waitValue.address = device_address(word.get());
  step.waitValue.flags = flags;
  detail::throw_value_error(answer, call, stream, step, word.owner(), at);
}

template <class T>
void check_wait(abi::CUresult answer, const char* call, stream_ref stream, wait_word_ref<T> word,
                unsigned flags, call_site at) {
  if (answer != abi::CUDA_SUCCESS) [[unlikely]] {
    throw_for_word(
        answer, call, stream, word,
        sizeof(T) == 4 ? abi::CU_STREAM_MEM_OP_WAIT_VALUE_32 : abi::CU_STREAM_MEM_OP_WAIT_VALUE_64,
        flags, at);
  }
}

template <class T>
void check_write(abi::CUresult answer, const char* call, stream_ref stream, wait_word_ref<T> word,
                 call_site at) {
  if (answer != abi::CUDA_SUCCESS) [[unlikely]] {
    throw_for_word(answer, call, stream, word,
                   sizeof(T) == 4 ? abi::CU_STREAM_MEM_OP_WRITE_VALUE_32
                                  : abi::CU_STREAM_MEM_OP_WRITE_VALUE_64,
                   abi::CU_STREAM_WRITE_VALUE_DEFAULT, at);
  }
}

}  // namespace

void wait_value(stream_ref stream, wait_word_ref<std::uint32_t> word, until condition,
                std::uint32_t value, value_wait_options options, call_site at) {
  constexpr const char* call = "cuStreamWaitValue32";
  CUstream_st* const handle = detail::require_open(stream, call, at);
  const detail::operand memory = operand_of(word, stream, call, at);
  const unsigned flags = detail::wait_flags(condition, options);
  check_wait(driver().cuStreamWaitValue32_v2(handle, device_address(word.get()), value, flags),
             call, stream, word, flags, at);
  memory.queued(at);
}

void wait_value(stream_ref stream, wait_word_ref<std::uint64_t> word, until condition,
                std::uint64_t value, value_wait_options options, call_site at) {
  constexpr const char* call = "cuStreamWaitValue64";
  CUstream_st* const handle = detail::require_open(stream, call, at);
  const detail::operand memory = operand_of(word, stream, call, at);
  const unsigned flags = detail::wait_flags(condition, options);
  check_wait(driver().cuStreamWaitValue64_v2(handle, device_address(word.get()), value, flags),
             call, stream, word, flags, at);
  memory.queued(at);
}

void write_value(stream_ref stream, wait_word_ref<std::uint32_t> word, std::uint32_t value,
                 call_site at) {
  constexpr const char* call = "cuStreamWriteValue32";
  CUstream_st* const handle = detail::require_open(stream, call, at);
  const detail::operand memory = operand_of(word, stream, call, at);
  check_write(driver().cuStreamWriteValue32_v2(handle, device_address(word.get()), value,
                                               abi::CU_STREAM_WRITE_VALUE_DEFAULT),
              call, stream, word, at);
  memory.queued(at);
}

void write_value(stream_ref stream, wait_word_ref<std::uint64_t> word, std::uint64_t value,
                 call_site at) {
  constexpr const char* call = "cuStreamWriteValue64";
  CUstream_st* const handle = detail::require_open(stream, call, at);
  const detail::operand memory = operand_of(word, stream, call, at);
  check_write(driver().cuStreamWriteValue64_v2(handle, device_address(word.get()), value,
                                               abi::CU_STREAM_WRITE_VALUE_DEFAULT),
              call, stream, word, at);
  memory.queued(at);
}

}  // namespace weir
