// stage/whole_job.hpp - a file, from the disk through the device and back, checked on the way.
#pragma once

#include "input_file.hpp"
#include "stage/plan.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace weir::tool {

// What came of a graph, where the plan asked for one.
struct replay_count {
  std::uint64_t launches = 0;  // rounds that were replayed
  std::uint64_t changes = 0;   // nodes of executables that were changed in place
  double preparation_seconds =
      0;  // to capture it, to make it executable and to upload it; in no other time
};

struct whole_result {
  std::uint32_t file_crc = 0;      // of what was read
  std::uint32_t returned_crc = 0;  // of what came back, joined from the chunks'
  double seconds = 0;              // from the first read to the last chunk's return
  replay_count replay;             // all zero without a graph

  [[nodiscard]] bool verified() const noexcept { return file_crc == returned_crc; }
};

// Gets every chunk that came back, in the order of the file, on the thread that runs the job.
using chunk_sink = std::function<void(std::span<const std::byte> returned)>;

// Reads the file chunk by chunk into pinned memory and sends each through the device; a host
// function computes the CRC-32 of what comes back. The calling thread reads, and computes the
// file's own CRC-32 from what it read; a chunk's memory is used again when its check is done, and
// that is the only thing the thread waits for. With a graph, whole rounds of full chunks are read
// and replayed, and the rest of the file follows chunk by chunk. `plan` is fitted to the file.
// Making streams, memory and the graph is not part of the time. Throws failure if the file cannot
// be read or no graph can be made, weir::error for what the device says, and what the sink throws.
// No work is under way afterwards in any case.
[[nodiscard]] whole_result run_whole_job(const input_file& file, const plan& plan,
                                         const chunk_sink& sink);

}  // namespace weir::tool
