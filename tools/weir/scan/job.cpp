// scan/job.cpp - readers, each with slots of its own.
#include "scan/job.hpp"

#include "checksum.hpp"
#include "failure.hpp"
#include "scan/crew.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <weir/error.hpp>

namespace weir::tool::scan {
namespace {

using clock = std::chrono::steady_clock;

double seconds_since(clock::time_point start) { return std::chrono::duration<double>{clock::now() - start}.count(); }

}  // namespace

job::job(const input_file& file, const kernels& kernels, const plan& plan) : file_{file}, plan_{plan} {
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
      // The job is being given up because of this or of something before it, and tells that.
    }
  }
}

void job::set(way how, parts which) {
  for (slot& s : slots_) s.set(which, how == way::replayed);
  for (const stream& s : streams_) s.sync();
}

template <class Begin, class End>
void job::run_chunks(std::uint64_t chunks, const Begin& begin, const End& end) {
  std::atomic<std::uint64_t> next = 0;
  run_crew(plan_.readers, [&](int reader) {
    std::vector<slot*> mine;
    for (auto i = static_cast<std::size_t>(reader); i < slots_.size(); i += static_cast<std::size_t>(plan_.readers)) {
      mine.push_back(&slots_[i]);
    }
    const auto finish = [&](slot& s) {
      if (!s.busy()) return;
      s.finish();
      end(s, reader);
    };
    try {
      for (std::uint64_t chunk = next++; chunk < chunks; chunk = next++) {
        finish(*mine.front());
        begin(*mine.front(), chunk);
        std::ranges::rotate(mine, mine.begin() + 1);  // the one that was started longest ago comes first
      }
      for (slot* const s : mine) finish(*s);
    } catch (...) {
      next = chunks;  // the others need not go on
      throw;
    }
  });
}

result job::run(way how, const watcher& watch) {
  set(how, {});
  expected_.clear();
  std::vector<std::uint32_t> remainders(plan_.chunks(file_.size()));
  std::vector<histogram> counts(static_cast<std::size_t>(plan_.readers));

  const auto start = clock::now();
  run_chunks(
      remainders.size(),
      [&](slot& s, std::uint64_t chunk) {
        const std::size_t bytes = plan_.bytes_of(chunk, file_.size());
        file_.read(chunk * plan_.chunk_bytes, s.staged(bytes));
        s.start(chunk, bytes);
      },
      [&](const slot& s, int reader) {
        remainders[s.chunk()] = s.remainder();
        add(counts[static_cast<std::size_t>(reader)], s.counts());
        watch(s.bytes());
      });
  // A CRC-32 begins with all bits set, and is the opposite of what remains in the end.
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
  set(way::queued, {});
  const std::uint64_t last_full = file_.size() - plan_.chunk_bytes;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    file_.read(std::min(i * plan_.chunk_bytes, last_full), slots_[i].staged(plan_.chunk_bytes));
    slots_[i].start(i, plan_.chunk_bytes);
  }
  for (slot& s : slots_) {
    s.finish();
    expected_.push_back(s.remainder());
  }
}

double job::run_in_memory(way how, parts which, std::uint64_t chunks) {
  fill_slots();
  set(how, which);

  const auto start = clock::now();
  run_chunks(
      chunks, [&](slot& s, std::uint64_t chunk) { s.start(chunk, plan_.chunk_bytes); },
      [&](const slot& s, int) {
        if (!which.kernels || s.remainder() == expected_[static_cast<std::size_t>(&s - slots_.data())]) return;
        throw failure{"the kernels found something else in a chunk than they had found in it before"};
      });
  return seconds_since(start);
}

}  // namespace weir::tool::scan
