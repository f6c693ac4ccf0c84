// stage/chunk_transfer.hpp - the way of a chunk through the device.
#pragma once

#include "stage/pipeline_streams.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <weir/event/event.hpp>
#include <weir/memory/buffer.hpp>

namespace weir::tool {

// Two pieces of device memory that one chunk after the other passes through, and the events between
// its steps.
class chunk_transfer {
 public:
  chunk_transfer(const pipeline_streams& streams, weir::device device, std::size_t chunk_bytes);

  // Queues the way of a chunk: from pinned memory to the device, across it, and back to pinned
  // memory. Each step waits, on the device, for the one before, and the first for the passage to be
  // empty. Nothing waits on the host.
  void enqueue(const pipeline_streams& streams, std::uint64_t chunk,
               std::span<const std::byte> from, std::span<std::byte> to);

  // The two pieces, for who queues the way himself: between two chunks, and when the memory is
  // there.
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
