// SPDX-License-Identifier: Apache-2.0
// support/gate.hpp - blocks a stream until the test opens the gate.
#pragma once

#include <gtest/gtest.h>
#include <weir/core/driver.hpp>
#include <weir/memory/fill.hpp>
#include <weir/memory/pinned_buffer.hpp>
#include <weir/stream/stream.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <stdexcept>

#include "driver/table.hpp"
#include "support/gate_watchdog.hpp"

namespace weir::test {

// Work queued on a stream after a gate waits, on the device, until the gate is opened or destroyed.
// No thread of the driver waits with it, so other streams and host functions continue, except for
// streams that share its hardware queue (share_hardware_queue). Declare it after objects that must
// outlive the blocked work.
// A gate that stays closed too long opens itself, and the test fails.
class gate {
 public:
  explicit gate(stream_ref stream) : index_{next_index()} {
    std::uint32_t& word = words()[index_];
    std::atomic_ref{word}.store(0);
    const auto address = static_cast<abi::CUdeviceptr>(reinterpret_cast<std::uintptr_t>(&word));
    const abi::CUresult result = detail::driver().cuStreamWaitValue32_v2(
        stream.get(), address, 1, abi::CU_STREAM_WAIT_VALUE_EQ);
    if (result != abi::CUDA_SUCCESS) throw std::runtime_error{"a gate cannot hold this stream"};
    gate_watchdog::instance().on_close(index_, word);
  }
  gate(const gate&) = delete;
  gate& operator=(const gate&) = delete;
  ~gate() {
    open();
    if (gate_watchdog::instance().timed_out(index_)) {
      ADD_FAILURE()
          << "a gate was closed for " << gate_watchdog::max_closed_time.count()
          << " s: a call waits for the stream that it held, or another stream shares its queue";
    }
  }

  void open() noexcept {
    gate_watchdog::instance().on_open(index_);
    std::atomic_ref{words()[index_]}.store(1);
  }

 private:
  // The words are used in rotation; there are far more of them than gates at a time.
  static std::size_t next_index() {
    static std::atomic<std::size_t> used{0};
    return used.fetch_add(1) % gate_watchdog::capacity;
  }
  static std::uint32_t* words() {
    static auto* const all = new pinned_buffer<std::uint32_t>{gate_watchdog::capacity};
    return all->data();
  }

  std::size_t index_;
};

// Returns true if two idle streams share a hardware queue. A GPU's streams share some queues, and a
// stream that waits for a value blocks the others in its queue.
inline bool share_hardware_queue(stream_ref one, stream_ref other) {
  constexpr std::chrono::milliseconds timeout{200};
  pinned_buffer<std::uint32_t> word{1};
  const auto blocks = [&](stream_ref held, stream_ref free) {
    gate holding{held};
    fill(free, word.data(), 1, 1u);  // a record alone is not blocked
    const bool is_held = !free.record().sync_for(timeout);
    holding.open();
    held.sync();
    free.sync();
    return is_held;
  };
  const bool is_shared = blocks(one, other) || blocks(other, one);
  word.close();  // the reclaimer thread could free it during the next gate, and wait for the device
                 // with the driver's lock held
  return is_shared;
}

}  // namespace weir::test
