// SPDX-License-Identifier: Apache-2.0
// weir/device/peer_access.hpp - direct access from one device to the memory of another.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/detail/export.hpp>
#include <weir/device/device.hpp>

namespace weir {

/// The attributes for peer_attribute_of(), with the driver's numbers.
enum class peer_attribute : int {
  performance_rank = 1,  ///< among the links of this machine, a smaller number is faster
  access_supported = 2,
  native_atomics = 3,
  array_access = 4,
  only_partial_native_atomics = 5,
};

/// Returns an attribute of the access from one device to the memory of another.
///
/// Throws: `invalid_device` if the two devices are equal.
/// In a capture: allowed.
/// In a host function: throws `not_permitted`.
/// Driver: cuDeviceGetP2PAttribute.
[[nodiscard]] WEIR_EXPORT int peer_attribute_of(device accessing, device accessed,
                                                peer_attribute attribute_id,
                                                call_site at = call_site::current());

/// While an object of this class exists, kernels of `accessing` can access memory of `accessed`
/// directly, in the primary contexts of both. This applies to memory from cuMemAlloc and
/// cudaMalloc, and to one direction only.
///
/// It does not apply to stream-ordered memory, such as weir's buffers:
/// memory_pool_ref::set_access() controls the access to that memory. Copies do not need a
/// peer_access: copy() works between any two devices, and is direct if device::can_access() is
/// true.
///
/// Several objects may exist for one pair of devices; the access ends with the last of these
/// objects. If other code enabled the access before the first object, the access stays enabled.
/// Move-only; a moved-from object does nothing.
///
/// In a capture: allowed.
/// Thread safety: an object needs external synchronisation; different objects may be used from
/// different threads.
class WEIR_EXPORT peer_access {
 public:
  /// Enables the access.
  ///
  /// Throws: `peer_access_unsupported` if device::can_access() is false, or if the two devices are
  /// equal.
  /// Driver: cuCtxEnablePeerAccess.
  [[nodiscard]] peer_access(device accessing, device accessed, call_site at = call_site::current());
  peer_access(peer_access&& other) noexcept;
  peer_access& operator=(peer_access&& other) noexcept;
  /// Ends the access. Errors go to set_unhandled_error_handler. During a capture started through
  /// weir and in a host function, weir's own thread ends the access later.
  ~peer_access();

  /// Ends the access now. Does nothing if the object is closed already. Work that uses the access
  /// must have finished.
  ///
  /// Throws: the driver's error.
  /// Driver: cuCtxDisablePeerAccess.
  void close(call_site at = call_site::current());
  /// Returns true if the object was closed or moved from.
  [[nodiscard]] bool closed() const noexcept { return accessing_device_ < 0; }

  /// Returns the device whose work accesses the memory.
  [[nodiscard]] device accessing_device() const noexcept { return device{accessing_device_}; }
  /// Returns the device that has the memory.
  [[nodiscard]] device accessed_device() const noexcept { return device{accessed_device_}; }

 private:
  int accessing_device_;  ///< -1 if closed
  int accessed_device_;
};

}  // namespace weir
