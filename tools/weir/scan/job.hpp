// SPDX-License-Identifier: Apache-2.0
// tools/weir/scan/job.hpp - scans a file on a device chunk by chunk, with several threads and
// streams.
#pragma once

#include "input_file.hpp"
#include "scan/findings.hpp"
#include "scan/kernels.hpp"
#include "scan/plan.hpp"
#include "scan/slot.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>
#include <weir/stream/stream.hpp>

namespace weir::tool::scan {

// How the work of a chunk is enqueued. `queued`: call by call. `replayed`: with one graph launch
// for each full chunk.
enum class launch_mode { queued, replayed };

struct result {
  findings found;
  double seconds = 0;
};

// Called for each chunk that is done, on any thread.
using progress_callback = std::function<void(std::size_t bytes)>;

// Owns the streams and slots of a plan, and runs one job after the other. An object must not be
// used again after a member has thrown. Thread safety: distinct objects are independent; const
// members may be called concurrently.
class job {
 public:
  // `plan` must be fitted to the file. The file and the kernels must outlive this object.
  job(const input_file& file, const kernels& kernels, const plan& plan);
  job(const job&) = delete;
  job& operator=(const job&) = delete;
  // Waits for all work, whether or not it failed.
  ~job();

  // Reads the whole file chunk by chunk into pinned memory, sends it to the device and analyses it
  // there. plan.readers threads share the slots; each thread reads into its own free slots and
  // waits only if none of them is free. The time is measured from the first read until all results
  // are combined, without capture. Throws failure if the file cannot be read, and weir::error for
  // errors of the device. All threads have ended then.
  [[nodiscard]] result run(launch_mode mode, const progress_callback& on_progress);

  // Like run(), without reading: processes `chunks` full chunks that are already in the slots, from
  // the beginning of the file. `which` can leave out copies or kernels to measure the others alone.
  // Returns seconds. Throws failure if the kernels give different results for one chunk.
  [[nodiscard]] double run_in_memory(launch_mode mode, parts which, std::uint64_t chunks);

 private:
  // Distributes the chunks over the readers. Each slot has a coroutine that runs co_await
  // each(slot, chunk, reader) for one chunk after the other, and each reader resumes the coroutines
  // of its own slots.
  template <class Each>
  void run_chunks(std::uint64_t chunks, const Each& each);
  // Sets the mode and the parts of all slots, and waits until graphs are uploaded.
  void set(launch_mode mode, parts which);
  // Reads the first chunks of the file into the slots and fills expected_, unless that is done
  // already.
  void fill_slots();

  const input_file& file_;
  plan plan_;
  std::vector<stream> streams_;
  std::vector<slot> slots_;
  // The remainder of each slot's chunk, if fill_slots() has read the chunks; empty if the slots
  // hold other chunks.
  std::vector<std::uint32_t> expected_;
};

}  // namespace weir::tool::scan
