// SPDX-License-Identifier: Apache-2.0
// weir/device/device.hpp - the devices of the driver in use, and their properties.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/detail/export.hpp>

#include <compare>

namespace weir {

class context_ref;

/// The priorities that streams of a device may have. A smaller number is served earlier, so
/// `greatest` is the smaller of the two. Both are 0 on a device without priorities. A priority is a
/// hint for scheduling: it pre-empts nothing and does not affect copies.
struct priority_range {
  int least = 0;
  int greatest = 0;

  /// Returns true if the device has this priority.
  [[nodiscard]] constexpr bool contains(int priority) const noexcept {
    return greatest <= priority && priority <= least;
  }
  /// Returns the nearest priority that the device has.
  [[nodiscard]] constexpr int clamped(int priority) const noexcept {
    return priority > least ? least : priority < greatest ? greatest : priority;
  }
  friend constexpr bool operator==(const priority_range&, const priority_range&) noexcept = default;
};

/// The compute capability of a device, as in "9.0".
struct compute_capability {
  int major = 0;
  int minor = 0;
  friend constexpr auto operator<=>(const compute_capability&,
                                    const compute_capability&) noexcept = default;
};

/// Memory of a device, in bytes.
struct memory_info {
  unsigned long long free = 0;
  unsigned long long total = 0;
};

/// The unique identifier of a device.
struct device_uuid {
  unsigned char bytes[16] = {};
  friend constexpr bool operator==(const device_uuid&, const device_uuid&) noexcept = default;
};

/// The attributes for device::attribute(), with the driver's numbers. Any other CUdevice_attribute
/// can be cast to this type.
enum class device_attribute : int {
  max_threads_per_block = 1,
  max_shared_memory_per_block = 8,
  warp_size = 10,
  clock_rate_khz = 13,
  multiprocessor_count = 16,
  integrated = 18,
  can_map_host_memory = 19,
  concurrent_kernels = 31,
  ecc_enabled = 32,
  pci_bus_id = 33,
  pci_device_id = 34,
  memory_clock_rate_khz = 36,
  memory_bus_width_bits = 37,
  l2_cache_bytes = 38,
  max_threads_per_multiprocessor = 39,
  async_engine_count = 40,
  unified_addressing = 41,
  compute_capability_major = 75,
  compute_capability_minor = 76,
  stream_priorities_supported = 78,
  managed_memory = 83,
  host_native_atomic_supported = 86,
  concurrent_managed_access = 89,
  can_flush_remote_writes = 98,
  max_persisting_cache_bytes = 108,
  max_access_window_bytes = 109,
  memory_pools_supported = 115,
  value_waits_of_64_bits = 122,
  value_wait_nor_supported = 123,
  sync_domain_count = 126,
};

class device_list;

/// A device, identified by its number. A plain value: it owns nothing and makes no driver call
/// until a property is queried. If the driver has no device of that number, the first query throws
/// `invalid_device`. No member changes the caller's current context.
///
/// In a capture: allowed, except for sync().
/// In a host function: members that call the driver throw `not_permitted`. count() returns 0
/// instead, and all() an empty range.
/// Thread safety: all members may be called from any thread.
class WEIR_EXPORT device {
 public:
  /// Refers to the device with this number. No driver call.
  constexpr explicit device(int ordinal = 0) noexcept : ordinal_{ordinal} {}

  /// Returns the number of devices of the driver in use; 0 if there is none, and in a host
  /// function. Never fails.
  ///
  /// Driver: cuDeviceGetCount.
  [[nodiscard]] static int count() noexcept;

  /// Returns all devices, for a range-based for loop.
  [[nodiscard]] static device_list all() noexcept;

  /// Returns the number of the device.
  [[nodiscard]] constexpr int ordinal() const noexcept { return ordinal_; }

  /// Returns the name. The text is valid as long as the program runs.
  ///
  /// Driver: cuDeviceGetName.
  [[nodiscard]] const char* name(call_site at = call_site::current()) const;

  /// Returns the PCI address, such as "0000:65:00.0". The text is valid as long as the program
  /// runs.
  ///
  /// Driver: cuDeviceGetPCIBusId.
  [[nodiscard]] const char* pci_bus_id(call_site at = call_site::current()) const;

  /// Returns the unique identifier, which is equal in every process of this machine.
  ///
  /// Driver: cuDeviceGetUuid.
  [[nodiscard]] device_uuid uuid(call_site at = call_site::current()) const;

  /// Returns an attribute.
  ///
  /// Driver: cuDeviceGetAttribute.
  [[nodiscard]] int attribute(device_attribute attribute_id,
                              call_site at = call_site::current()) const;
  /// Returns the compute capability.
  ///
  /// Driver: cuDeviceGetAttribute.
  [[nodiscard]] weir::compute_capability compute_capability(
      call_site at = call_site::current()) const;

  /// Returns the range of priorities for streams of this device. Queried once, then cached.
  ///
  /// Driver: cuCtxGetStreamPriorityRange.
  [[nodiscard]] priority_range priorities(call_site at = call_site::current()) const;

  /// Returns the free and total memory, in bytes.
  ///
  /// Driver: cuMemGetInfo.
  [[nodiscard]] memory_info memory(call_site at = call_site::current()) const;

  /// Returns true if kernels of this device can access the memory of `peer` directly.
  ///
  /// Driver: cuDeviceCanAccessPeer.
  [[nodiscard]] bool can_access(device peer, call_site at = call_site::current()) const;

  /// Returns true for a device of the embedded driver, which uses host memory and no GPU.
  [[nodiscard]] bool is_embedded() const noexcept;

  /// Returns the primary context, which the CUDA runtime uses too. weir retains it at the first use
  /// and keeps it until the program ends, so that no stream or buffer outlives the context.
  /// Resetting the context outside weir (cudaDeviceReset) destroys all streams and buffers in it.
  ///
  /// Driver: cuDevicePrimaryCtxRetain.
  [[nodiscard]] context_ref primary_context(call_site at = call_site::current()) const;

  /// Blocks the calling thread until all work in the device's primary context has finished,
  /// including work that weir did not queue. Returns immediately if the device has not been used.
  ///
  /// Throws: the error of failed work.
  /// In a capture: as context_ref::sync().
  /// Driver: as context_ref::sync().
  void sync(call_site at = call_site::current()) const;

  friend constexpr bool operator==(device, device) noexcept = default;

 private:
  int ordinal_;
};

/// The devices 0 to count-1, as a range.
class device_list {
 public:
  class iterator {
   public:
    using value_type = device;
    using difference_type = int;

    constexpr iterator() noexcept = default;
    constexpr explicit iterator(int ordinal) noexcept : ordinal_{ordinal} {}
    constexpr device operator*() const noexcept { return device{ordinal_}; }
    constexpr iterator& operator++() noexcept {
      ++ordinal_;
      return *this;
    }
    constexpr iterator operator++(int) noexcept { return iterator{ordinal_++}; }
    friend constexpr bool operator==(iterator, iterator) noexcept = default;

   private:
    int ordinal_ = 0;
  };

  constexpr explicit device_list(int count) noexcept : count_{count} {}
  [[nodiscard]] constexpr iterator begin() const noexcept { return iterator{0}; }
  [[nodiscard]] constexpr iterator end() const noexcept { return iterator{count_}; }
  [[nodiscard]] constexpr int size() const noexcept { return count_; }

 private:
  int count_;
};

}  // namespace weir
