// probe/second_device.hpp - the second device: its primary context, and what a case finds there.
#pragma once

#include "probe/gates.hpp"
#include "probe/world.hpp"

#include <cstddef>

namespace weir::conformance {

constexpr size_t kSecondDeviceBytes = 64 << 10;

// Takes the primary context of device 1 for as long as the process lives, if there is such a
// device: g.far.
void retain_second_device();

// What a case of flag FAR has there: a non-blocking stream and memory, all 0. The current context
// stays device 0's. At the end of the case neither device's primary context has peer access to the
// other one's any more.
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

  CUresult enable_access_from_first() const;  // lets device 0's context reach what is in this one
  CUresult enable_access_to_first() const;    // and the other way round
};

// Arms the gate while the stream's own context is current.
void hold(ValueGate& gate, CUstream s);

// 64 bytes of one word each, written and read by synchronous calls in the context that has them.
// They abort the case if refused.
void put_words(CUcontext owner, CUdeviceptr at, uint32_t value);
uint32_t get_word(CUcontext owner, CUdeviceptr at);

}  // namespace weir::conformance
