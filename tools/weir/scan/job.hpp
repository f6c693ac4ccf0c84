// scan/job.hpp - a file through a device, chunk by chunk, by several threads and in several
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

enum class launch_mode { queued, replayed };  // call by call, or from a graph a chunk

struct result {
  findings found;
  double seconds = 0;
};

// Is told of each chunk that is done, on any thread.
using progress_callback = std::function<void(std::size_t bytes)>;

// Has the streams and the slots for one plan; runs one job after the other. Not to be used any more
// when one has thrown. Thread safety: as any object.
class job {
 public:
  // `plan` is fitted to the file, which has to be there for as long as the job, and so have the
  // kernels.
  job(const input_file& file, const kernels& kernels, const plan& plan);
  job(const job&) = delete;
  job& operator=(const job&) = delete;
  // Waits for what is under way, whatever came of it.
  ~job();

  // The whole file: read chunk by chunk into pinned memory, sent to the device and looked at there.
  // plan.readers threads have the slots between them; each reads where one is free, and waits for
  // nothing but that. The time is from the first read until all is found out and joined; capturing
  // is not part of it. Throws failure if the file cannot be read, weir::error for what the device
  // says; all threads have ended then.
  [[nodiscard]] result run(launch_mode mode, const progress_callback& on_progress);

  // The same without reading: so many full chunks, of the file's first ones, which lie in the
  // slots' memory. With parts left out it tells what copies and kernels take alone. The seconds.
  // Throws failure if the kernels say one thing of a chunk and then another.
  [[nodiscard]] double run_in_memory(launch_mode mode, parts which, std::uint64_t chunks);

 private:
  // Has the readers share out the chunks: each slot is a coroutine that has co_await each(slot,
  // chunk, reader) for one chunk after the other, and a reader resumes those of its slots.
  template <class Each>
  void run_chunks(std::uint64_t chunks, const Each& each);
  void set(launch_mode mode, parts which);
  void fill_slots();

  const input_file& file_;
  plan plan_;
  std::vector<stream> streams_;
  std::vector<slot> slots_;
  std::vector<std::uint32_t>
      expected_;  // of the chunks that fill_slots() has put there; empty if others are there
};

}  // namespace weir::tool::scan
