// SPDX-License-Identifier: Apache-2.0
// probe/second_device.hpp - the second device: its primary context, and the objects of a case
// there.
#pragma once

#include "probe/gates.hpp"
#include "probe/world.hpp"

#include <cstddef>
#include <string>

namespace weir::conformance {

constexpr size_t kSecondDeviceBytes = 64 << 10;

// Retains the primary context of device 1, if there is one, until the process ends: g.device1.
void retain_second_device();

// The objects of a case with flag SECOND_DEVICE on that device: a non-blocking stream, and memory
// set to 0. Device 0's context stays current. The destructor disables peer access between the two
// primary contexts.
class SecondDevice {
 public:
  static constexpr CUdevice dev = 1;
  CUcontext ctx;
  CUstream s = nullptr;
  CUdeviceptr mem = 0;

  SecondDevice();
  SecondDevice(const SecondDevice&) = delete;
  SecondDevice& operator=(const SecondDevice&) = delete;
  ~SecondDevice();

  // gives device 0's context access to this one's memory
  CUresult enable_access_from_first() const;
  CUresult enable_access_to_first() const;  // gives this context access to device 0's memory
};

// Arms the gate while the stream's own context is current.
void hold(ValueGate& gate, CUstream s);

// Write and read 64 bytes of one repeated word with synchronous calls in the owner's context. They
// abort the case on failure.
void put_words(CUcontext owner, CUdeviceptr at, uint32_t value);
uint32_t get_word(CUcontext owner, CUdeviceptr at);

// Records the device that the pointer's memory belongs to.
void rec_device(Rec& r, const std::string& key, CUdeviceptr p);

}  // namespace weir::conformance
