// support/gate.hpp - holds a stream until the test lets it go.
#pragma once

#include <weir/driver.hpp>
#include <weir/pinned_buffer.hpp>
#include <weir/stream.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <stdexcept>

#include "driver/table.hpp"

namespace weir::test {

// Work queued on a stream after a gate waits, on the device, until the gate is opened or destroyed. No thread of the
// driver waits with it, so other streams and host functions go on. Declare it after what must outlive the held work.
class gate {
 public:
  explicit gate(stream_ref stream) : word_{next_word()} {
    const auto address = static_cast<abi::CUdeviceptr>(reinterpret_cast<std::uintptr_t>(word_));
    const abi::CUresult result =
        detail::driver().cuStreamWaitValue32_v2(stream.get(), address, 1, abi::CU_STREAM_WAIT_VALUE_EQ);
    if (result != abi::CUDA_SUCCESS) throw std::runtime_error{"a gate cannot hold this stream"};
  }
  gate(const gate&) = delete;
  gate& operator=(const gate&) = delete;
  ~gate() { open(); }

  void open() noexcept { std::atomic_ref{*word_}.store(1); }

 private:
  // Words are used in turn; there are far more of them than gates at a time.
  static std::uint32_t* next_word() {
    static auto* const words = new pinned_buffer<std::uint32_t>{4096};
    static std::atomic<std::size_t> used{0};
    std::uint32_t* word = words->data() + used.fetch_add(1) % words->size();
    std::atomic_ref{*word}.store(0);
    return word;
  }

  std::uint32_t* word_;
};

}  // namespace weir::test
