// SPDX-License-Identifier: Apache-2.0
// probe/world.hpp - the initial state of every case: a device, its primary context, and scratch
// memory.
#pragma once

#include "probe/abi.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace weir::conformance {

constexpr size_t kMiB = 1 << 20;
constexpr size_t kScratch = 4 * kMiB;
constexpr size_t kCells = 4096;
constexpr size_t kCellBytes = 16;

struct State {
  CUdevice dev = 0;
  CUcontext ctx = nullptr;         // the primary context of dev, current on the case's thread
  unsigned char* cells = nullptr;  // kCells words in pinned memory, accessible to host and device
  CUdeviceptr cells_dev = 0;
  std::atomic<size_t> cell_next{0};
  CUdeviceptr dbuf = 0;           // kScratch bytes of device memory
  unsigned char* pin = nullptr;   // kScratch bytes of pinned memory
  unsigned char* page = nullptr;  // kScratch bytes of pageable memory
  CUevent unrecorded = nullptr;   // never recorded: its query shows whether a capture is still open
  CUcontext other = nullptr;      // a second context, created before the first case that needs it
  CUcontext device1 =
      nullptr;  // the primary context of device 1, retained by the first case that needs it
};
extern State g;

// Initializes the driver and gets its first device, for a case that starts uninitialized.
void init_device();

// Short names for frequent constants.
inline constexpr unsigned NB = CU_STREAM_NON_BLOCKING;
inline constexpr unsigned BL = CU_STREAM_DEFAULT;
inline const CUstream LEGACY = CU_STREAM_LEGACY;
inline const CUstream PER_THREAD = CU_STREAM_PER_THREAD;
inline constexpr CUstreamCaptureMode GLOBAL = CU_STREAM_CAPTURE_MODE_GLOBAL;
inline constexpr CUstreamCaptureMode LOCAL = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
inline constexpr CUstreamCaptureMode RELAXED = CU_STREAM_CAPTURE_MODE_RELAXED;
inline constexpr CUmemAllocationHandleType FD = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;

// A 32- or 64-bit word of pinned memory that a stream writes or waits for and the test reads or
// writes.
struct Cell {
  unsigned char* h = nullptr;
  CUdeviceptr d = 0;
  uint32_t get() const { return __atomic_load_n(reinterpret_cast<uint32_t*>(h), __ATOMIC_ACQUIRE); }
  void set(uint32_t v) const {
    __atomic_store_n(reinterpret_cast<uint32_t*>(h), v, __ATOMIC_RELEASE);
  }
  uint64_t get64() const {
    return __atomic_load_n(reinterpret_cast<uint64_t*>(h), __ATOMIC_ACQUIRE);
  }
  void set64(uint64_t v) const {
    __atomic_store_n(reinterpret_cast<uint64_t*>(h), v, __ATOMIC_RELEASE);
  }
};

Cell new_cell(uint64_t value = 0);
void clear_cells();  // before a case: frees all cells and sets them to 0

// wait_cell() returns true if the cell has the value within ms. early() waits kMustNotHappenMs,
// late() waits kMustHappenMs.
bool wait_cell(const Cell& c, uint32_t v, int ms);
bool early(const Cell& c, uint32_t v = 1);
bool late(const Cell& c, uint32_t v = 1);

// Enqueues work whose completion the host sees without a driver call: a memset of one pinned word.
void mark(CUstream s, const Cell& c, uint32_t v = 1);

}  // namespace weir::conformance
