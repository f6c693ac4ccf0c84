// SPDX-License-Identifier: Apache-2.0
// by_hand/raw_whole_job.hpp - the whole of `weir stage`, written with direct driver calls.
#pragma once

#include <cstddef>
#include <cstdint>

namespace bench {

struct raw_job {
  int file;  // a descriptor
  std::uint64_t file_bytes;
  std::size_t chunk_bytes;
  std::size_t in_flight;
};

struct raw_job_result {
  std::uint32_t file_crc;
  std::uint32_t returned_crc;
  double seconds;
};

// The pipeline as a careful CUDA programmer writes it: four streams, one for each step, an event
// between two steps, and a fixed number of chunks in flight. Uses the primary context of device 0,
// which must be current. Throws std::runtime_error.
[[nodiscard]] raw_job_result run_raw_whole_job(const raw_job& job);

}  // namespace bench
