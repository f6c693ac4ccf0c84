// weir/device/peer_access.hpp - streams of one device that use the memory of another where it is.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/detail/export.hpp>
#include <weir/device/device.hpp>

namespace weir {

// What peer_attribute_of() can be asked for, with the driver's numbers.
enum class peer_attribute : int {
  performance_rank = 1,  // smaller is faster, among the links of this machine
  access_supported = 2,
  native_atomics = 3,
  array_access = 4,
  only_partial_native_atomics = 5,
};

// About work of one device on the memory of another; of two different ones (else invalid_device).
// In a capture: allowed. In a host function: refused. cuDeviceGetP2PAttribute.
[[nodiscard]] WEIR_EXPORT int peer_attribute_of(device from, device to, peer_attribute which,
                                                call_site at = call_site::current());

// While one lives, kernels and copies of `from` reach the memory of `to` directly, in the primary
// contexts of both: what cuMemAlloc gave, and cudaMalloc. In one direction; the other is another
// object's. Stream-ordered memory, weir's buffers among it, is not meant: who may use that is its
// pool's to say (memory_pool_ref::set_access). Nor are copies: copy() works between any two
// devices, but where they reach each other it goes straight from one to the other. Several for one
// pair are one to the driver, which forgets it with the last; access that somebody else had
// switched on before stays on. Move-only; a moved-from one does nothing. Thread safety: as any
// object; different ones from different threads. In a capture: allowed.
class WEIR_EXPORT peer_access {
 public:
  // Fails with peer_access_unsupported where the device cannot (device::can_access), also of a
  // device and itself. cuCtxEnablePeerAccess.
  [[nodiscard]] peer_access(device from, device to, call_site at = call_site::current());
  peer_access(peer_access&& other) noexcept;
  peer_access& operator=(peer_access&& other) noexcept;
  // What fails goes to set_unhandled_error_handler. During a capture begun through weir and in host
  // functions it is switched off later, by another thread.
  ~peer_access();

  // Gives it up now and reports what fails; does nothing a second time. Work that uses it is done
  // by then. cuCtxDisablePeerAccess.
  void close(call_site at = call_site::current());
  [[nodiscard]] bool closed() const noexcept { return from_ < 0; }

  [[nodiscard]] device from() const noexcept { return device{from_}; }
  [[nodiscard]] device to() const noexcept { return device{to_}; }

 private:
  int from_;  // negative: closed
  int to_;
};

}  // namespace weir
