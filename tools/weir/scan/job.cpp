// SPDX-License-Identifier: Apache-2.0
// tools/weir/scan/job.cpp - reader threads, each with its own slots.
#include "scan/job.hpp"

#include "checksum.hpp"
#include "failure.hpp"
#include "scan/run_on_threads.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <utility>
#include <weir/completion/sync_wait.hpp>
#include <weir/completion/task.hpp>
#include <weir/completion/when_all_values.hpp>
#include <weir/core/error.hpp>

namespace weir::tool::scan {
namespace {

using clock = std::chrono::steady_clock;

double seconds_since(clock::time_point start) {
  return std::chrono::duration<double>{clock::now() - start}.count();
}

}  // namespace

job::job(const input_file& file, const kernels& kernels, const plan& plan)
    : file_{file}, plan_{plan} {
  for (int i = 0; i < plan.streams; ++i) streams_.emplace_back(plan.device);
  slots_.reserve(static_cast<std::size_t>(plan.in_flight));
  while (slots_.size() < static_cast<std::size_t>(plan.in_flight)) {
    slots_.emplace_back(streams_[slots_.size() % streams_.size()].ref(), kernels, plan.chunk_bytes);
  }
}

job::~job() {
  for (const stream& s : streams_) {
    try {
      s.sync();
    } catch (const weir::error&) {
      // The job is ending because of this error or an earlier one, and reports it.
    }
  }
}

void job::set(launch_mode mode, parts which) {
  for (slot& s : slots_) s.set(which, mode == launch_mode::replayed);
  for (const stream& s : streams_) s.sync();
}

// [slots]
template <class Each>
void job::run_chunks(std::uint64_t chunks, const Each& each) {
  std::atomic<std::uint64_t> next = 0;
  const auto chunk_after_chunk = [&](slot& s, int reader) -> task<> {
    try {
      for (std::uint64_t chunk = next++; chunk < chunks; chunk = next++)
        co_await each(s, chunk, reader);
    } catch (...) {
      next = chunks;  // makes the other coroutines end
      throw;
    }
  };
  run_on_threads(plan_.readers, [&](int reader) {
    std::vector<task<>> mine;
    for (auto i = static_cast<std::size_t>(reader); i < slots_.size();
         i += static_cast<std::size_t>(plan_.readers)) {
      mine.push_back(chunk_after_chunk(slots_[i], reader));
    }
    sync_wait(when_all(std::move(mine)));
  });
}
// [/slots]

result job::run(launch_mode mode, const progress_callback& on_progress) {
  set(mode, {});
  expected_.clear();
  std::vector<std::uint32_t> remainders(plan_.chunks(file_.size()));
  std::vector<histogram> counts(static_cast<std::size_t>(plan_.readers));

  const auto start = clock::now();
  // [chunk]
  run_chunks(remainders.size(), [&](slot& s, std::uint64_t chunk, int reader) -> task<> {
    const std::size_t bytes = plan_.bytes_of(chunk, file_.size());
    file_.read(chunk * plan_.chunk_bytes, s.staged(bytes));
    co_await s.process(bytes);
    remainders[chunk] = s.remainder();
    add(counts[static_cast<std::size_t>(reader)], s.counts());
    on_progress(bytes);
  });
  // [/chunk]
  // A CRC-32 starts with all bits set, and is the complement of the final remainder.
  std::uint32_t remainder = ~0u;
  for (std::uint64_t chunk = 0; chunk < remainders.size(); ++chunk) {
    remainder = crc32_joined(remainder, remainders[chunk], plan_.bytes_of(chunk, file_.size()));
  }
  result all{.found = {.crc = ~remainder}};
  for (const histogram& each : counts) add(all.found.counts, each);
  all.seconds = seconds_since(start);
  return all;
}

void job::fill_slots() {
  if (!expected_.empty()) return;
  set(launch_mode::queued, {});
  const std::uint64_t last_full = file_.size() - plan_.chunk_bytes;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    file_.read(std::min(i * plan_.chunk_bytes, last_full), slots_[i].staged(plan_.chunk_bytes));
    sync_wait(slots_[i].process(plan_.chunk_bytes));
    expected_.push_back(slots_[i].remainder());
  }
}

double job::run_in_memory(launch_mode mode, parts which, std::uint64_t chunks) {
  fill_slots();
  set(mode, which);

  const auto start = clock::now();
  run_chunks(chunks, [&](slot& s, std::uint64_t, int) -> task<> {
    co_await s.process(plan_.chunk_bytes);
    if (!which.kernels || s.remainder() == expected_[static_cast<std::size_t>(&s - slots_.data())])
      co_return;
    throw failure{"the kernels found something else in a chunk than they had found in it before"};
  });
  return seconds_since(start);
}

}  // namespace weir::tool::scan
