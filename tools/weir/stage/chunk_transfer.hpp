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

  // Returns the buffer of the first copy, for a caller that enqueues the copies itself. That caller
  // has to order its copies after the allocation of the buffers and after the previous chunk.
  [[nodiscard]] std::span<std::byte> copied_in() noexcept {
    return {copied_in_.data(), copied_in_.size()};
  }
  // Like copied_in(), for the buffer of the copy across the device.
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
