// SPDX-License-Identifier: Apache-2.0
// completion/held_streams.hpp - streams whose work ends when the host releases it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>
#include <weir/kernel/kernel.hpp>
#include <weir/memory/pinned_buffer.hpp>
#include <weir/stream/stream.hpp>

namespace bench {

// Each stream is blocked once at a time. On a GPU a kernel polls a word in pinned memory: a wait
// for a value would block the hardware queue, which streams share. On the embedded driver it is a
// wait for a value, which occupies no thread; a spinning kernel would occupy a processor.
class held_streams {
 public:
  explicit held_streams(std::size_t count);
  held_streams(const held_streams&) = delete;
  held_streams& operator=(const held_streams&) = delete;
  ~held_streams();  // releases all of them

  [[nodiscard]] std::span<const weir::stream> streams() const { return streams_; }

  // Gives the stream work that lasts until it is released.
  void hold(std::size_t i);
  // Returns true if the device has reached the blocking work. Other work may be ahead in the
  // hardware queue.
  [[nodiscard]] bool has_started(std::size_t i) const;
  void release(std::size_t i);

 private:
  static constexpr std::size_t words_per_stream = 32;  // one cache line of the GPU for each stream

  // How often the stream was released, and the round in which its work has last started.
  [[nodiscard]] std::atomic_ref<std::uint32_t> released(std::size_t i) const;
  [[nodiscard]] std::atomic_ref<std::uint32_t> started(std::size_t i) const;

  mutable weir::pinned_buffer<std::uint32_t> words_;
  weir::kernel code_;
  bool uses_kernel_;
  std::vector<weir::stream> streams_;
};

}  // namespace bench
