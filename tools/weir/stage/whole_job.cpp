// stage/whole_job.cpp - read, carry, check, retire: a bounded number of chunks in flight.
#include "stage/whole_job.hpp"

#include "stage/lanes.hpp"
#include "stage/passage.hpp"

#include <zlib.h>

#include <algorithm>
#include <chrono>
#include <vector>
#include <weir/event.hpp>
#include <weir/host_function.hpp>
#include <weir/pinned_buffer.hpp>

namespace weir::tool {
namespace {

std::uint32_t crc32_of(std::uint32_t before, std::span<const std::byte> bytes) {
  return static_cast<std::uint32_t>(
      ::crc32_z(before, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()));
}

// What one chunk in flight occupies. The host function writes `crc`; `finished` orders that before the retirement.
struct slot {
  slot(const lanes& lanes, const plan& plan)
      : source{plan.chunk_bytes, plan.device},
        returned{plan.chunk_bytes, plan.device},
        way{lanes, plan.device, plan.chunk_bytes},
        finished{plan.device} {
    // Their pages are taken here, before anybody looks at the clock.
    std::fill(source.begin(), source.end(), std::byte{0});
    std::fill(returned.begin(), returned.end(), std::byte{0});
    for (const stream& s : lanes.all()) {
      source.used_on(s);
      returned.used_on(s);
    }
  }

  pinned_buffer<std::byte> source;
  pinned_buffer<std::byte> returned;
  passage way;
  event finished;
  std::size_t bytes = 0;
  std::uint32_t crc = 0;
};

// The streams are declared last and so go first; their destructor waits, so that no work uses a slot that goes after.
class job {
 public:
  job(const input_file& file, const plan& plan, const chunk_sink& sink)
      : file_{file}, plan_{plan}, sink_{sink}, lanes_{plan.device, plan.streams} {
    slots_.reserve(static_cast<std::size_t>(plan.in_flight));
    for (int i = 0; i < plan.in_flight; ++i) slots_.emplace_back(lanes_, plan);
    lanes_.sync();
  }

  whole_result run() {
    const auto start = std::chrono::steady_clock::now();
    const std::uint64_t chunks = plan_.chunks(file_.size());
    const auto in_flight = static_cast<std::uint64_t>(slots_.size());
    for (std::uint64_t chunk = 0; chunk < chunks; ++chunk) {
      slot& s = slots_[chunk % in_flight];
      if (chunk >= in_flight) retire(s);
      begin(chunk, s);
    }
    for (std::uint64_t chunk = chunks - in_flight; chunk < chunks; ++chunk) retire(slots_[chunk % in_flight]);
    result_.seconds = std::chrono::duration<double>{std::chrono::steady_clock::now() - start}.count();
    return result_;
  }

 private:
  void begin(std::uint64_t chunk, slot& s) {
    s.bytes = plan_.bytes_of(chunk, file_.size());
    const std::span source{s.source.data(), s.bytes};
    const std::span returned{s.returned.data(), s.bytes};
    file_.read(chunk * plan_.chunk_bytes, source);
    s.way.carry(lanes_, chunk, source, returned);
    s.way.hand_to_check(lanes_, chunk);
    const stream_ref check = lanes_.of(step::check, chunk);
    launch_host(check, [&s, returned] { s.crc = crc32_of(0, returned); });
    check.record(s.finished);
    // The device is at work by now; the file's own checksum costs no time of its own.
    result_.file_crc = crc32_of(result_.file_crc, source);
  }

  void retire(slot& s) {
    s.finished.sync();
    const auto joined = ::crc32_combine(result_.returned_crc, s.crc, static_cast<z_off_t>(s.bytes));
    result_.returned_crc = static_cast<std::uint32_t>(joined);
    sink_({s.returned.data(), s.bytes});
  }

  const input_file& file_;
  const plan& plan_;
  const chunk_sink& sink_;
  whole_result result_;
  std::vector<slot> slots_;
  lanes lanes_;
};

}  // namespace

whole_result run_whole_job(const input_file& file, const plan& plan, const chunk_sink& sink) {
  return job{file, plan, sink}.run();
}

}  // namespace weir::tool
