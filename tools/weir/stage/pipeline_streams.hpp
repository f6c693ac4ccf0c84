// stage/pipeline_streams.hpp - the streams, and which of them does which step of which chunk.
#pragma once

#include <cstdint>
#include <vector>
#include <weir/stream/stream.hpp>

namespace weir::tool {

// What is done with a chunk, in this order: to the device, across it, back, and the host function
// that checks it.
enum class step { in, across, out, check };
inline constexpr int step_count = 4;

// Streams first .. first + count - 1.
struct stream_range {
  int first;
  int count;
  friend constexpr bool operator==(const stream_range&, const stream_range&) = default;
};

// Spreads the steps over the streams. Up to four streams, neighbouring steps share one, so that
// what competes least is together (in and across first); with more, a step has several, which take
// turns.
//   1: {in across out check}   2: {in across} {out check}   3: {in across} {out} {check}   4: {in}
//   {across} {out} {check}
[[nodiscard]] constexpr stream_range streams_of(step which, int streams) noexcept {
  const int i = static_cast<int>(which);
  const int first = i * streams / step_count;
  const int last = (i + 1) * streams / step_count;
  return {first, last > first ? last - first : 1};
}

// Owns the streams of a run. Thread safety: as any object.
class pipeline_streams {
 public:
  pipeline_streams(weir::device device, int streams);
  pipeline_streams(const pipeline_streams&) = delete;
  pipeline_streams& operator=(const pipeline_streams&) = delete;
  // Waits for all of them, whatever came of their work: what the work uses may go afterwards.
  ~pipeline_streams();

  [[nodiscard]] stream_ref of(step which, std::uint64_t chunk) const noexcept {
    const stream_range range = streams_of(which, static_cast<int>(streams_.size()));
    return streams_[static_cast<std::size_t>(range.first) +
                    chunk % static_cast<unsigned>(range.count)];
  }
  [[nodiscard]] const std::vector<stream>& all() const noexcept { return streams_; }

  // Blocks until all work is done; throws what it failed with.
  void sync() const;

 private:
  std::vector<stream> streams_;
};

}  // namespace weir::tool
