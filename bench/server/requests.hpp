// server/requests.hpp - what a server does for each request: 64 KiB in, a kernel, 64 KiB out.
#pragma once

#include "harness/raw.hpp"

#include <cstddef>
#include <optional>
#include <span>
#include <vector>
#include <weir/memory/buffer.hpp>
#include <weir/completion/completion.hpp>
#include <weir/memory/copy_batch.hpp>
#include <weir/graph/graph_exec.hpp>
#include <weir/kernel/kernel.hpp>
#include <weir/memory/pinned_buffer.hpp>
#include <weir/stream/stream.hpp>

namespace bench {

enum class queued { each_time, from_graph };

// The copies of requests that are queued together; good for others when those are done.
struct together {
  weir::copy_batch in;
  weir::copy_batch out;
};

// The memory of requests that are under way at a time, over at most 32 streams. Each place serves one request at a time;
// different places from different threads.
class requests {
 public:
  requests(std::size_t places, queued how);
  [[nodiscard]] std::size_t places() const { return work_.size(); }

  // Queues the work of another request: through weir, or by the driver's own calls.
  [[nodiscard]] weir::completion queue(std::size_t place);
  void queue_raw(std::size_t place);
  // The work of several in one stream: the copies in by one call, a kernel for each, and the copies out by one call.
  void queue_together(std::span<const std::size_t> places, const weir::stream& stream, together& copies);
  [[nodiscard]] const weir::stream& stream_of(std::size_t place) const { return streams_[place % streams_.size()]; }

  // Returns when all that was queued is done, and so are the host functions behind it.
  void sync() const;

  // Throws if the answer is not that of the request that was queued last, and is done.
  void check(std::size_t place) const;

 private:
  static constexpr std::size_t most_streams = 32;
  static constexpr std::size_t words = (64 << 10) / sizeof(float);
  static constexpr std::size_t words_checked = 1000;

  struct work {
    std::span<float> asked;
    std::span<float> there;
    std::span<float> answered;
    std::optional<weir::graph_exec> all = {};  // of all that is queued, if it is replayed
    float number = 0;
  };
  void begin(work& of) const;
  void queue_each(const work& of, const weir::stream& stream) const;
  void launch(const work& of, const weir::stream& stream) const;

  weir::kernel answer_;
  weir::pinned_buffer<float> asked_;
  weir::pinned_buffer<float> answered_;
  std::vector<weir::stream> streams_;
  weir::buffer<float> there_;
  std::vector<work> work_;
  queued how_;
};

}  // namespace bench
