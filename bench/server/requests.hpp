// SPDX-License-Identifier: Apache-2.0
// server/requests.hpp - the work of a server for each request: 64 KiB in, a kernel, 64 KiB out.
#pragma once

#include "harness/raw.hpp"

#include <cstddef>
#include <optional>
#include <span>
#include <vector>
#include <weir/completion/completion.hpp>
#include <weir/graph/graph_exec.hpp>
#include <weir/kernel/kernel.hpp>
#include <weir/memory/buffer.hpp>
#include <weir/memory/copy_batch.hpp>
#include <weir/memory/pinned_buffer.hpp>
#include <weir/stream/stream.hpp>

namespace bench {

enum class submit_mode { each_time, from_graph };

// The copies of requests that are queued together; reusable once those are done.
struct batch_copies {
  weir::copy_batch in;
  weir::copy_batch out;
};

// The memory of concurrent requests, over at most 32 streams. Each slot serves one request at a
// time; different threads may use different slots.
class requests {
 public:
  requests(std::size_t slots, submit_mode mode);
  [[nodiscard]] std::size_t slots() const { return work_.size(); }

  // Queues the work of another request: through weir, or by direct driver calls.
  [[nodiscard]] weir::completion queue(std::size_t slot);
  void queue_raw(std::size_t slot);
  // Queues the work of several requests in one stream: the copies in by one call, a kernel for
  // each, and the copies out by one call.
  void queue_batch(std::span<const std::size_t> slots, const weir::stream& stream,
                   batch_copies& copies);
  [[nodiscard]] const weir::stream& stream_of(std::size_t slot) const {
    return streams_[slot % streams_.size()];
  }

  // Returns when all queued work is done, including the host functions behind it.
  void sync() const;

  // Throws if the result is wrong for the last request of the slot, which must be done.
  void check(std::size_t slot) const;

 private:
  static constexpr std::size_t max_streams = 32;
  static constexpr std::size_t words = (64 << 10) / sizeof(float);
  static constexpr std::size_t words_checked = 1000;

  struct work {
    std::span<float> input;
    std::span<float> device_data;
    std::span<float> output;
    std::optional<weir::graph_exec> all = {};  // all queued work, if it is replayed
    float number = 0;
  };
  void begin(work& of) const;
  void queue_each(const work& of, const weir::stream& stream) const;
  void launch(const work& of, const weir::stream& stream) const;

  weir::kernel answer_;
  weir::pinned_buffer<float> input_;
  weir::pinned_buffer<float> output_;
  std::vector<weir::stream> streams_;
  weir::buffer<float> device_data_;
  std::vector<work> work_;
  submit_mode mode_;
};

}  // namespace bench
