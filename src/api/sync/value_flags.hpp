// SPDX-License-Identifier: Apache-2.0
// api/sync/value_flags.hpp - converts the condition of a wait for a word in memory to flags of the
// driver.
#pragma once

#include "driver/abi.hpp"

#include <weir/sync/value_wait.hpp>

namespace weir::detail {

[[nodiscard]] constexpr unsigned wait_flags(until condition, value_wait_options options) noexcept {
  return static_cast<unsigned>(condition) | (options.flush ? abi::CU_STREAM_WAIT_VALUE_FLUSH : 0u);
}

static_assert(static_cast<unsigned>(until::geq) == abi::CU_STREAM_WAIT_VALUE_GEQ);
static_assert(static_cast<unsigned>(until::eq) == abi::CU_STREAM_WAIT_VALUE_EQ);
static_assert(static_cast<unsigned>(until::bit_and) == abi::CU_STREAM_WAIT_VALUE_AND);
static_assert(static_cast<unsigned>(until::nor) == abi::CU_STREAM_WAIT_VALUE_NOR);

}  // namespace weir::detail
