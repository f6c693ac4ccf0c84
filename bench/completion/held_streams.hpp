// completion/held_streams.hpp - streams whose work ends when the host says so.
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

// Each is held once at a time. On a GPU by a kernel that looks at a word in pinned memory: a wait
// for a value would stop the hardware's queue, which streams share, and with it those that are to
// go on. On the embedded driver by such a wait, which has no thread; a kernel that spins would have
// one of the processors.
class held_streams {
 public:
  explicit held_streams(std::size_t count);
  held_streams(const held_streams&) = delete;
  held_streams& operator=(const held_streams&) = delete;
  ~held_streams();  // lets all of them go

  [[nodiscard]] std::span<const weir::stream> streams() const { return streams_; }

  // Gives the stream work that lasts until it is released.
  void hold(std::size_t i);
  // Has the device come to it? Others may be ahead in the hardware's queue.
  [[nodiscard]] bool has_started(std::size_t i) const;
  void release(std::size_t i);

 private:
  static constexpr std::size_t words_per_stream = 32;  // a line of the GPU's for each stream

  // How often the stream was released, and in which round its work has begun last.
  [[nodiscard]] std::atomic_ref<std::uint32_t> released(std::size_t i) const;
  [[nodiscard]] std::atomic_ref<std::uint32_t> started(std::size_t i) const;

  mutable weir::pinned_buffer<std::uint32_t> words_;
  weir::kernel code_;
  bool uses_kernel_;
  std::vector<weir::stream> streams_;
};

}  // namespace bench
