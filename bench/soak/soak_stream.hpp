// SPDX-License-Identifier: Apache-2.0
// soak/soak_stream.hpp - one stream of a soak, and its invariants.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <weir/event/event.hpp>
#include <weir/memory/buffer.hpp>
#include <weir/memory/pinned_buffer.hpp>
#include <weir/stream/stream.hpp>

namespace soak {

class soak_stream {
 public:
  explicit soak_stream(weir::device device);

  void set_word();
  void copy_word();
  void record();
  void wait_for(const soak_stream& other);
  void call_host();
  void allocate();
  void free_one();
  // Continues with a new stream behind the old stream's work; the old stream is destroyed at once.
  void replace_stream();

  // Waits for all work. Returns true if all of it ran, and once.
  [[nodiscard]] bool sync_and_check();

 private:
  static constexpr std::size_t max_spare_buffers = 8;

  // Shared between the driver's thread and this one. Must not move while work is queued.
  std::atomic<std::uint64_t> calls_run_{0};
  std::uint64_t calls_queued_ = 0;
  std::uint32_t word_value_ = 0;    // after all queued memsets
  std::uint32_t copied_value_ = 0;  // after all queued copies

  weir::stream stream_;
  weir::pinned_buffer<std::uint32_t> copied_;
  weir::buffer<std::uint32_t> word_;
  std::deque<weir::buffer<std::uint32_t>> spare_;
  std::optional<weir::event> event_;
};

}  // namespace soak
