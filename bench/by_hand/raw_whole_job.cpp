// SPDX-License-Identifier: Apache-2.0
// by_hand/raw_whole_job.cpp - reads, copies and checks a file without weir.
#include "by_hand/raw_whole_job.hpp"

#include "harness/raw.hpp"
#include "harness/timing.hpp"

#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <deque>
#include <stdexcept>

namespace bench {
namespace {

class pinned_memory {
 public:
  explicit pinned_memory(std::size_t bytes) {
    ok(raw().cuMemHostAlloc(&address_, bytes, CU_MEMHOSTALLOC_PORTABLE));
  }
  pinned_memory(const pinned_memory&) = delete;
  pinned_memory& operator=(const pinned_memory&) = delete;
  ~pinned_memory() { static_cast<void>(raw().cuMemFreeHost(address_)); }
  [[nodiscard]] unsigned char* get() const { return static_cast<unsigned char*>(address_); }

 private:
  void* address_ = nullptr;
};

struct slot {
  explicit slot(std::size_t size) : source{size}, returned{size}, arrived{size}, crossed{size} {
    // Faults in every page before the clock starts.
    std::memset(source.get(), 0, size);
    std::memset(returned.get(), 0, size);
    ok(raw().cuMemsetD8_v2(arrived, 0, size));
    ok(raw().cuMemsetD8_v2(crossed, 0, size));
  }

  pinned_memory source;
  pinned_memory returned;
  raw_memory arrived;
  raw_memory crossed;
  raw_event in_done;
  raw_event across_done;
  raw_event out_done;
  raw_event finished;
  std::size_t bytes = 0;
  std::uint32_t crc = 0;
};

void check_slot(void* data) {
  slot& s = *static_cast<slot*>(data);
  s.crc = static_cast<std::uint32_t>(::crc32_z(0, s.returned.get(), s.bytes));
}

void read_chunk(const raw_job& job, std::uint64_t chunk, slot& s) {
  const std::uint64_t begin = chunk * job.chunk_bytes;
  s.bytes =
      static_cast<std::size_t>(std::min<std::uint64_t>(job.chunk_bytes, job.file_bytes - begin));
  std::size_t done = 0;
  while (done < s.bytes) {
    const ssize_t got =
        ::pread(job.file, s.source.get() + done, s.bytes - done, static_cast<off_t>(begin + done));
    if (got <= 0) throw std::runtime_error{"cannot read the file to stage"};
    done += static_cast<std::size_t>(got);
  }
}

// Destroyed in reverse order: the streams are synchronized first.
class pipeline {
 public:
  explicit pipeline(const raw_job& job) {
    for (std::size_t i = 0; i < job.in_flight; ++i) slots_.emplace_back(job.chunk_bytes);
    // A memset returns before it is done, and these streams do not wait for the default stream that
    // it runs on.
    ok(raw().cuCtxSynchronize());
  }
  ~pipeline() { static_cast<void>(raw().cuCtxSynchronize()); }

  raw_job_result run(const raw_job& job) {
    const auto start = clock::now();
    const std::uint64_t chunks = (job.file_bytes + job.chunk_bytes - 1) / job.chunk_bytes;
    for (std::uint64_t chunk = 0; chunk < chunks; ++chunk) {
      slot& s = slots_[chunk % slots_.size()];
      if (chunk >= slots_.size()) retire(s);
      read_chunk(job, chunk, s);
      send(s);
      result_.file_crc =
          static_cast<std::uint32_t>(::crc32_z(result_.file_crc, s.source.get(), s.bytes));
    }
    const std::uint64_t left = std::min<std::uint64_t>(chunks, slots_.size());
    for (std::uint64_t chunk = chunks - left; chunk < chunks; ++chunk)
      retire(slots_[chunk % slots_.size()]);
    result_.seconds = std::chrono::duration<double>{clock::now() - start}.count();
    return result_;
  }

 private:
  void send(slot& s) {
    const auto& table = raw();
    ok(table.cuMemcpyHtoDAsync_v2(s.arrived, s.source.get(), s.bytes, in_));
    ok(table.cuEventRecord(s.in_done, in_));
    ok(table.cuStreamWaitEvent(across_, s.in_done, 0));
    ok(table.cuMemcpyDtoDAsync_v2(s.crossed, s.arrived, s.bytes, across_));
    ok(table.cuEventRecord(s.across_done, across_));
    ok(table.cuStreamWaitEvent(out_, s.across_done, 0));
    ok(table.cuMemcpyDtoHAsync_v2(s.returned.get(), s.crossed, s.bytes, out_));
    ok(table.cuEventRecord(s.out_done, out_));
    ok(table.cuStreamWaitEvent(check_, s.out_done, 0));
    ok(table.cuLaunchHostFunc(check_, check_slot, &s));
    ok(table.cuEventRecord(s.finished, check_));
  }

  void retire(slot& s) {
    ok(raw().cuEventSynchronize(s.finished));
    const auto joined = ::crc32_combine(result_.returned_crc, s.crc, static_cast<z_off_t>(s.bytes));
    result_.returned_crc = static_cast<std::uint32_t>(joined);
  }

  std::deque<slot> slots_;
  raw_stream in_;
  raw_stream across_;
  raw_stream out_;
  raw_stream check_;
  raw_job_result result_{};
};

}  // namespace

raw_job_result run_raw_whole_job(const raw_job& job) { return pipeline{job}.run(job); }

}  // namespace bench
