// SPDX-License-Identifier: Apache-2.0
// tools/weir/stage/pipeline_streams.hpp - the streams of a run, and the stream of each step.
#pragma once

#include <cstdint>
#include <vector>
#include <weir/stream/stream.hpp>

namespace weir::tool {

// The steps of a chunk in order: copies to the device, across it, and back, then the host function
// that checks it.
enum class step { in, across, out, check };
inline constexpr int step_count = 4;

// The streams first .. first + count - 1.
struct stream_range {
  int first;
  int count;
  friend constexpr bool operator==(const stream_range&, const stream_range&) = default;
};

// Returns the streams of a step, if there are `streams` streams. With fewer than four streams,
// neighbouring steps share a stream. With three streams, only the two steps share that compete
// least: in and across. With more than four, a step may have several streams, which take its chunks
// in turn.
// 1: {in across out check}
// 2: {in across} {out check}
// 3: {in across} {out} {check}
// 4: {in} {across} {out} {check}
[[nodiscard]] constexpr stream_range streams_of(step which, int streams) noexcept {
  const int i = static_cast<int>(which);
  const int first = i * streams / step_count;
  const int last = (i + 1) * streams / step_count;
  return {first, last > first ? last - first : 1};
}

// Owns the streams of a run. Thread safety: distinct objects are independent; const members may be
// called concurrently.
class pipeline_streams {
 public:
  pipeline_streams(weir::device device, int streams);
  pipeline_streams(const pipeline_streams&) = delete;
  pipeline_streams& operator=(const pipeline_streams&) = delete;
  // Waits for all streams, whether or not their work failed. Memory that the work uses may be freed
  // afterwards.
  ~pipeline_streams();

  [[nodiscard]] stream_ref of(step which, std::uint64_t chunk) const noexcept {
    const stream_range range = streams_of(which, static_cast<int>(streams_.size()));
    return streams_[static_cast<std::size_t>(range.first) +
                    chunk % static_cast<unsigned>(range.count)];
  }
  [[nodiscard]] const std::vector<stream>& all() const noexcept { return streams_; }

  // Blocks until all work is done. Throws what it failed with.
  void sync() const;

 private:
  std::vector<stream> streams_;
};

}  // namespace weir::tool
