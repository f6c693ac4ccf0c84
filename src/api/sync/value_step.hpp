// SPDX-License-Identifier: Apache-2.0
// api/sync/value_step.hpp - the driver's description of a wait for a word in memory, or of a write
// to it.
#pragma once

#include "api/core/check.hpp"
#include "driver/abi.hpp"

#include <weir/sync/value_wait.hpp>

namespace weir::detail {

[[nodiscard]] constexpr unsigned wait_flags(until condition, value_wait_options options) noexcept {
  return static_cast<unsigned>(condition) | (options.flush ? abi::CU_STREAM_WAIT_VALUE_FLUSH : 0u);
}

// Returns the driver's description of a wait for a word or of a write to it. The driver describes
// both by structures of one layout. Throws if the word is closed.
template <class T>
abi::CUstreamBatchMemOpParams word_step(abi::CUstreamBatchMemOpType type, wait_word_ref<T> word,
                                        T value, unsigned flags, const char* call, call_site at) {
  if (word.get() == closed_handle<T>()) [[unlikely]] {
    throw_closed_wait_word(call, at);
  }
  abi::CUstreamBatchMemOpParams step{};
  step.waitValue.operation = type;
  step.waitValue.address = device_address(word.get());
  if constexpr (sizeof(T) == sizeof step.waitValue.value64) {
    step.waitValue.value64 = value;
  } else {
    step.waitValue.value = value;
  }
  step.waitValue.flags = flags;
  return step;
}

static_assert(static_cast<unsigned>(until::geq) == abi::CU_STREAM_WAIT_VALUE_GEQ);
static_assert(static_cast<unsigned>(until::eq) == abi::CU_STREAM_WAIT_VALUE_EQ);
static_assert(static_cast<unsigned>(until::bit_and) == abi::CU_STREAM_WAIT_VALUE_AND);
static_assert(static_cast<unsigned>(until::nor) == abi::CU_STREAM_WAIT_VALUE_NOR);

}  // namespace weir::detail
