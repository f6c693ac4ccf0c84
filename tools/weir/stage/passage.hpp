// stage/passage.hpp - the way of a chunk through the device.
#pragma once

#include "stage/lanes.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <weir/memory/buffer.hpp>
#include <weir/event/event.hpp>

namespace weir::tool {

// Two pieces of device memory that one chunk after the other passes through, and the events between its steps.
class passage {
 public:
  passage(const lanes& lanes, weir::device device, std::size_t chunk_bytes);

  // Queues the way of a chunk: from pinned memory to the device, across it, and back to pinned memory. Each step waits,
  // on the device, for the one before, and the first for the passage to be empty. Nothing waits on the host.
  void carry(const lanes& lanes, std::uint64_t chunk, std::span<const std::byte> from, std::span<std::byte> to);

  // The two pieces, for who queues the way himself: between two chunks, and when the memory is there.
  [[nodiscard]] std::span<std::byte> arrived() noexcept { return {arrived_.data(), arrived_.size()}; }
  [[nodiscard]] std::span<std::byte> crossed() noexcept { return {crossed_.data(), crossed_.size()}; }

  // Makes the stream of the check wait until the chunk is back.
  void hand_to_check(const lanes& lanes, std::uint64_t chunk) const;

 private:
  buffer<std::byte> arrived_;
  buffer<std::byte> crossed_;
  event in_done_;
  event across_done_;
  event out_done_;
};

}  // namespace weir::tool
