// SPDX-License-Identifier: Apache-2.0
// tools/weir/scan/slot.hpp - the work of one chunk, and its memory.
#pragma once

#include "scan/kernels.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <weir/completion/task.hpp>
#include <weir/graph/graph_exec.hpp>
#include <weir/memory/buffer.hpp>
#include <weir/memory/pinned_buffer.hpp>
#include <weir/stream/stream.hpp>

namespace weir::tool::scan {

// The parts of the work to do. With only one part, the time of that part alone can be measured.
struct parts {
  bool copies = true;
  bool kernels = true;
};

// Processes one chunk at a time, all in one stream:
//
// file.read(position, s.staged(bytes));
// co_await s.process(bytes);
// s.remainder(), s.counts()
//
// Thread safety: different slots may be used by different threads; a slot by one thread at a time.
class slot {
 public:
  // The stream and the kernels must outlive this object.
  slot(stream_ref s, const kernels& kernels, std::size_t chunk_bytes);

  // Selects the parts that process() does. With `replay`, full chunks are launched from a graph.
  // Must not be called while process() runs.
  void set(parts which, bool replay);

  // The pinned memory to put a chunk of `bytes` bytes into. Must not be written while process()
  // runs.
  [[nodiscard]] std::span<std::byte> staged(std::size_t bytes) noexcept {
    return {staged_.data(), bytes};
  }

  // Enqueues the work and completes when it is done. Throws what it failed with.
  [[nodiscard]] task<> process(std::size_t bytes);

  // Returns the remainder of the last chunk, to be combined with the remainders of the chunks
  // before it in the file (crc32_joined).
  [[nodiscard]] std::uint32_t remainder() const noexcept { return host_results_[0]; }
  // Returns the count of each byte value in the last chunk.
  [[nodiscard]] std::span<const std::uint32_t, 256> counts() const noexcept {
    return std::span{host_results_}.subspan<1, 256>();
  }

 private:
  void queue(std::size_t bytes);

  stream_ref stream_;
  const kernels& kernels_;
  std::size_t chunk_bytes_;
  pinned_buffer<std::byte> staged_;
  buffer<std::byte> device_chunk_;  // whole units; a chunk lies at the end
  buffer<std::uint32_t> device_results_;
  pinned_buffer<std::uint32_t> host_results_;  // the copy of device_results_ on the host
  parts parts_;
  std::optional<graph_exec> replayed_;
};

}  // namespace weir::tool::scan
