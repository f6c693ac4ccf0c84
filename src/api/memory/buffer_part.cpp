// SPDX-License-Identifier: Apache-2.0
// api/memory/buffer_part.cpp - the errors of parts of buffers.
#include <weir/memory/buffer_part.hpp>

#include "api/core/check.hpp"

#include <fmt/format.h>

namespace weir::detail {

void throw_part_out_of_range(const tracked_memory& memory, std::size_t first, std::size_t count,
                             std::size_t size, call_site at) {
  constexpr const char* call = "weir::buffer::part";
  if (memory.closed()) throw_closed(call, subject::memory(nullptr), at);
  throw_error(errc::invalid_value, call, fmt::format("memory at {}", memory.address()),
              fmt::format("{} elements from number {} do not fit into {}; pass a smaller part",
                          count, first, size),
              at);
}

}  // namespace weir::detail
