// SPDX-License-Identifier: Apache-2.0
// tools/weir/stage/chunk_transfer.hpp - the copies of a chunk through the device.
#pragma once

#include "stage/pipeline_streams.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <weir/event/event.hpp>
#include <weir/memory/buffer.hpp>

namespace weir::tool {

// Two device buffers through which one chunk at a time is copied, and the events between the steps.
class chunk_transfer {
 public:
  chunk_transfer(const pipeline_streams& streams, weir::device device, std::size_t chunk_bytes);

  // Enqueues the copies of a chunk: from pinned memory to the device, across it, and back to pinned
  // memory. Each step waits on the device for the previous one, and the first step waits until the
  // buffers are free. The host never waits.
  void enqueue(const pipeline_streams& streams, std::uint64_t chunk,
               std::span<const std::byte> from, std::span<std::byte> to);

  // The two buffers, for a caller that enqueues the copies itself. Use them only between chunks and
  // after the memory is allocated.
  [[nodiscard]] std::span<std::byte> copied_in() noexcept {
    return {copied_in_.data(), copied_in_.size()};
  }
  [[nodiscard]] std::span<std::byte> copied_across() noexcept {
    return {copied_across_.data(), copied_across_.size()};
  }

  // Makes the stream of the check wait until the chunk is back.
  void wait_before_check(const pipeline_streams& streams, std::uint64_t chunk) const;

 private:
  buffer<std::byte> copied_in_;
  buffer<std::byte> copied_across_;
  event in_done_;
  event across_done_;
  event out_done_;
};

}  // namespace weir::tool
