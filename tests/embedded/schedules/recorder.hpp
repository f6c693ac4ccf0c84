// SPDX-License-Identifier: Apache-2.0
// schedules/recorder.hpp - calls of the driver API, in short, for programs with ordering bugs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "driver/abi.hpp"
#include "embedded/table.hpp"

namespace weir::test {

using word = std::uint32_t;

// Enqueues operations on single words of device memory, which the host of an embedded device reads
// and writes as well. Ends the process if a call fails.
class recorder {
 public:
  static constexpr int failed_call = 3;  // the exit status

  recorder() {
    abi::CUcontext context = nullptr;
    check(driver.cuInit(0));
    check(driver.cuDevicePrimaryCtxRetain(&context, 0));
    check(driver.cuCtxSetCurrent(context));
    unrelated_ = new_word();
  }

  abi::CUstream new_stream() const {
    abi::CUstream created = nullptr;
    check(driver.cuStreamCreate(&created, abi::CU_STREAM_NON_BLOCKING));
    return created;
  }
  // Returns a word that contains 0. The driver waits for all work before it allocates pinned
  // memory.
  word* new_word() const {
    void* memory = nullptr;
    abi::CUdeviceptr allocated = 0;
    check(driver.cuMemAlloc_v2(&allocated, sizeof(word)));
    memory = reinterpret_cast<void*>(allocated);
    return ::new (memory) word{0};
  }
  template <std::size_t Count>
  std::array<word*, Count> new_words() const {
    std::array<word*, Count> created{};
    for (word*& memory : created) memory = new_word();
    return created;
  }
  // Returns an event that is recorded in the stream.
  abi::CUevent record(abi::CUstream stream) const {
    abi::CUevent created = nullptr;
    check(driver.cuEventCreate(&created, abi::CU_EVENT_DISABLE_TIMING));
    check(driver.cuEventRecord(created, stream));
    return created;
  }

  void wait(abi::CUstream stream, abi::CUevent event) const {
    check(driver.cuStreamWaitEvent(stream, event, 0));
  }
  // Lets a stream wait for all work of another one.
  void join(abi::CUstream stream, abi::CUstream other) const { wait(stream, record(other)); }
  void set(abi::CUstream stream, word* target, word value) const {
    check(driver.cuMemsetD32Async(address(target), value, 1, stream));
  }
  void copy(abi::CUstream stream, word* target, const word* source) const {
    check(driver.cuMemcpyAsync(address(target), address(source), sizeof(word), stream));
  }
  // Adds operations on a word that nothing else uses.
  void unrelated(abi::CUstream stream, int operations) const {
    for (int i = 0; i < operations; ++i) set(stream, unrelated_, 1);
  }
  void write_flag(abi::CUstream stream, word* flag, word value) const {
    check(driver.cuStreamWriteValue32_v2(stream, address(flag), value, 0));
  }
  void wait_for_flag(abi::CUstream stream, const word* flag, word value) const {
    check(driver.cuStreamWaitValue32_v2(stream, address(flag), value, 0));
  }
  void call(abi::CUstream stream, abi::CUhostFn function, void* argument) const {
    check(driver.cuLaunchHostFunc(stream, function, argument));
  }
  void sync(abi::CUstream stream) const { check(driver.cuStreamSynchronize(stream)); }
  void sync(abi::CUevent event) const { check(driver.cuEventSynchronize(event)); }
  void sync_all() const { check(driver.cuCtxSynchronize()); }

  // Returns an executable graph of what `record_work` enqueues in the stream.
  template <class Work>
  abi::CUgraphExec graph(abi::CUstream stream, Work record_work) const {
    abi::CUgraph recorded = nullptr;
    abi::CUgraphExec created = nullptr;
    check(driver.cuStreamBeginCapture_v2(stream, abi::CU_STREAM_CAPTURE_MODE_RELAXED));
    record_work();
    check(driver.cuStreamEndCapture(stream, &recorded));
    check(driver.cuGraphInstantiateWithFlags(&created, recorded, 0));
    return created;
  }
  void launch(abi::CUgraphExec graph, abi::CUstream stream) const {
    check(driver.cuGraphLaunch(graph, stream));
  }

  // Returns a word of stream-ordered memory, and frees it.
  word* allocate(abi::CUstream stream) const {
    abi::CUdeviceptr memory = 0;
    check(driver.cuMemAllocAsync(&memory, sizeof(word), stream));
    return reinterpret_cast<word*>(memory);
  }
  void free(abi::CUstream stream, word* memory) const {
    check(driver.cuMemFreeAsync(address(memory), stream));
  }

 private:
  static void check(abi::CUresult result) {
    if (result != abi::CUDA_SUCCESS) std::_Exit(failed_call);
  }
  static abi::CUdeviceptr address(const word* memory) noexcept {
    return reinterpret_cast<abi::CUdeviceptr>(memory);
  }

  const detail::driver_table& driver = embedded::table();
  word* unrelated_ = nullptr;
};

}  // namespace weir::test
