// scan/slot.hpp - the job of one chunk: what is queued for it, and the memory that it takes.
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

// What of the job is done; the rest shows how fast either is alone.
struct parts {
  bool copies = true;
  bool kernels = true;
};

// Takes one chunk after the other, all in one stream:
//
//   file.read(position, s.staged(bytes));
//   co_await s.process(bytes);
//   s.remainder(), s.counts()
//
// Thread safety: as any object; different slots from different threads.
class slot {
 public:
  // The stream and the kernels have to be there for as long as the slot.
  slot(stream_ref s, const kernels& kernels, std::size_t chunk_bytes);

  // What process() does from now on; `replay` has it launched from a graph, where the chunk is a
  // full one. Not while it is under way.
  void set(parts which, bool replay);

  // Where a chunk of so many bytes comes from. Not while it is looked at.
  [[nodiscard]] std::span<std::byte> staged(std::size_t bytes) noexcept {
    return {staged_.data(), bytes};
  }

  // Queues the job, and ends when it is done. Throws what it failed with.
  [[nodiscard]] task<> process(std::size_t bytes);

  // Of the chunk that was looked at last: what is joined to those of the chunks before it by
  // crc32_combine, and how often each byte comes.
  [[nodiscard]] std::uint32_t remainder() const noexcept { return host_results_[0]; }
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
  pinned_buffer<std::uint32_t> host_results_;  // device_results_, on the host
  parts parts_;
  std::optional<graph_exec> replayed_;
};

}  // namespace weir::tool::scan
