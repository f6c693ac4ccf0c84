// SPDX-License-Identifier: Apache-2.0
// tools/weir/stage/slot.hpp - the memory and events of one chunk in flight.
#pragma once

#include "checksum.hpp"
#include "stage/chunk_transfer.hpp"
#include "stage/pipeline_streams.hpp"
#include "stage/plan.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <weir/event/event.hpp>
#include <weir/memory/pinned_buffer.hpp>

namespace weir::tool {

// The memory of a chunk on the host and the device. The host function after the chunk's copies
// calls check(), which sets `crc`. The caller waits for `finished` before it reads `crc`.
struct slot {
  slot(const pipeline_streams& streams, const plan& plan)
      : source{plan.chunk_bytes, plan.device},
        returned{plan.chunk_bytes, plan.device},
        transfer{streams, plan.device, plan.chunk_bytes},
        finished{plan.device} {
    // Touches all pages now, so that page faults are not part of a measurement.
    std::fill(source.begin(), source.end(), std::byte{0});
    std::fill(returned.begin(), returned.end(), std::byte{0});
    for (const stream& s : streams.all()) {
      source.used_on(s);
      returned.used_on(s);
    }
  }

  // The parts of the memory that the chunk fills: the data that is sent, and the returned data.
  [[nodiscard]] std::span<std::byte> sent() noexcept { return {source.data(), bytes}; }
  [[nodiscard]] std::span<std::byte> received() noexcept { return {returned.data(), bytes}; }

  void check() noexcept { crc = crc32_of(0, received()); }

  pinned_buffer<std::byte> source;
  pinned_buffer<std::byte> returned;
  chunk_transfer transfer;
  event finished;
  std::size_t bytes = 0;
  std::uint32_t crc = 0;
};

}  // namespace weir::tool
