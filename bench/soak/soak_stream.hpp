// soak/soak_stream.hpp - one stream of a soak, and what has to be true of it.
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
  // Goes on with a new stream after the work of the old one, which is destroyed at once.
  void replace_stream();

  // Waits for all of it. Is everything done, and once?
  [[nodiscard]] bool sync_and_check();

 private:
  static constexpr std::size_t max_spare_buffers = 8;

  // What the driver's thread and this one share. Not moved while work is queued.
  std::atomic<std::uint64_t> calls_run_{0};
  std::uint64_t calls_queued_ = 0;
  std::uint32_t word_value_ = 0;    // after all sets that are queued
  std::uint32_t copied_value_ = 0;  // after all copies that are queued

  weir::stream stream_;
  weir::pinned_buffer<std::uint32_t> copied_;
  weir::buffer<std::uint32_t> word_;
  std::deque<weir::buffer<std::uint32_t>> spare_;
  std::optional<weir::event> event_;
};

}  // namespace soak
