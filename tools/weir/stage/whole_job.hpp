// SPDX-License-Identifier: Apache-2.0
// tools/weir/stage/whole_job.hpp - sends a file from the disk through the device and back, and
// checks it.
#pragma once

#include "input_file.hpp"
#include "stage/plan.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace weir::tool {

// Counts of the graph's use; all zero if the plan has no graph.
struct replay_count {
  std::uint64_t launches = 0;      // replayed rounds
  std::uint64_t changes = 0;       // nodes of executable graphs that were changed in place
  double preparation_seconds = 0;  // for capture, instantiation and upload; part of no other time
};

struct whole_result {
  std::uint32_t file_crc = 0;      // of the data that was read
  std::uint32_t returned_crc = 0;  // of the returned data, combined from its chunks
  double seconds = 0;              // from the first read to the return of the last chunk
  replay_count replay;             // all zero without a graph

  [[nodiscard]] bool verified() const noexcept { return file_crc == returned_crc; }
};

// Receives every returned chunk, in file order, on the thread that runs the job.
using chunk_sink = std::function<void(std::span<const std::byte> returned)>;

// Reads the file chunk by chunk into pinned memory and sends each chunk through the device. A host
// function computes the CRC-32 of the returned data. The calling thread reads the file and computes
// its CRC-32; it only waits when it needs a slot whose check is not done. With a graph, the chunks
// in the middle of the file are replayed in rounds (plan.hpp), and the others are enqueued one by
// one. `plan` must be fitted to the file. The time does not include the creation of streams, memory
// and the graph.
//
// Throws: failure if the file cannot be read or no graph can be made, weir::error for errors of the
// device, and what the sink throws. In every case no work is in progress afterwards.
[[nodiscard]] whole_result run_whole_job(const input_file& file, const plan& plan,
                                         const chunk_sink& sink);

}  // namespace weir::tool
