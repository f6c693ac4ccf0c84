// SPDX-License-Identifier: Apache-2.0
// tools/weir/stage/whole_job.cpp - reads, sends, checks and retires chunks, with a bounded number
// in flight.
#include "stage/whole_job.hpp"

#include "checksum.hpp"
#include "failure.hpp"
#include "stage/pipeline_streams.hpp"
#include "stage/round_graph.hpp"
#include "stage/slot.hpp"

#include <fmt/format.h>

#include <chrono>
#include <optional>
#include <vector>
#include <weir/core/error.hpp>
#include <weir/stream/host_function.hpp>

namespace weir::tool {
namespace {

using clock = std::chrono::steady_clock;

double seconds_since(clock::time_point start) {
  return std::chrono::duration<double>{clock::now() - start}.count();
}

// The streams are declared last and therefore destroyed first. Their destructor waits, so no work
// uses a slot after its destruction.
class job {
 public:
  job(const input_file& file, const plan& plan, const chunk_sink& sink)
      : file_{file}, plan_{plan}, sink_{sink}, streams_{plan.device, plan.streams} {
    slots_.reserve(plan.slots());
    for (std::uint64_t i = 0; i < plan.slots(); ++i) slots_.emplace_back(streams_, plan);
    streams_.sync();
    if (plan.rounds(file.size()) > 0) prepare_rounds();
  }

  whole_result run() {
    const auto start = clock::now();
    const std::uint64_t chunks = plan_.chunks(file_.size());
    const std::uint64_t round_chunks = plan_.round_chunks();
    std::uint64_t next = 0;
    if (rounds_) {
      for (; next < round_chunks; ++next) queue(next);
      for (std::uint64_t round = 0; round < plan_.rounds(file_.size());
           ++round, next += round_chunks)
        replay(next);
    }
    for (; next < chunks; ++next) queue(next);
    for (std::uint64_t chunk = chunks - slots_.size(); chunk < chunks; ++chunk)
      retire(slot_of(chunk));
    result_.seconds = seconds_since(start);
    if (rounds_) {
      result_.replay.launches = rounds_->launches();
      result_.replay.changes = rounds_->changes();
    }
    return result_;
  }

 private:
  void prepare_rounds() {
    const auto start = clock::now();
    try {
      rounds_.emplace(streams_, slots_, plan_);
      streams_.sync();
    } catch (const weir::error& e) {
      throw failure{fmt::format(
          "no graph can be made of the job; without --graph it needs none: {}", e.what())};
    }
    result_.replay.preparation_seconds = seconds_since(start);
  }

  [[nodiscard]] slot& slot_of(std::uint64_t chunk) { return slots_[chunk % slots_.size()]; }

  // Reads a chunk into its slot. Waits first until the earlier chunk in that slot is done.
  void fill(std::uint64_t chunk) {
    slot& s = slot_of(chunk);
    if (chunk >= slots_.size()) retire(s);
    s.bytes = plan_.bytes_of(chunk, file_.size());
    file_.read(chunk * plan_.chunk_bytes, s.sent());
  }

  // Computes the file's own checksum while the device works, so that it takes no additional time.
  void add_to_checksum(std::uint64_t chunk) {
    result_.file_crc = crc32_of(result_.file_crc, slot_of(chunk).sent());
  }

  void queue(std::uint64_t chunk) {
    fill(chunk);
    slot& s = slot_of(chunk);
    s.transfer.enqueue(streams_, chunk, s.sent(), s.received());
    s.transfer.wait_before_check(streams_, chunk);
    const stream_ref check = streams_.of(step::check, chunk);
    launch_host(check, [&s] { s.check(); });
    check.record(s.finished);
    add_to_checksum(chunk);
  }

  void replay(std::uint64_t first) {
    const std::uint64_t last = first + plan_.round_chunks() - 1;
    for (std::uint64_t chunk = first; chunk < last; ++chunk) {
      fill(chunk);
      add_to_checksum(chunk);  // now, while the data is in the processor's cache
    }
    fill(last);
    rounds_->launch(first);
    add_to_checksum(last);
  }

  // Waits until the chunk in the slot is checked, and passes its data to the sink.
  void retire(slot& s) {
    s.finished.sync();
    result_.returned_crc = crc32_joined(result_.returned_crc, s.crc, s.bytes);
    sink_(s.received());
  }

  const input_file& file_;
  const plan& plan_;
  const chunk_sink& sink_;
  whole_result result_;
  std::vector<slot> slots_;
  std::optional<round_graph> rounds_;
  pipeline_streams streams_;
};

}  // namespace

whole_result run_whole_job(const input_file& file, const plan& plan, const chunk_sink& sink) {
  return job{file, plan, sink}.run();
}

}  // namespace weir::tool
