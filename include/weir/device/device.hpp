// weir/device/device.hpp - the devices of the driver in use, and what they are.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/detail/export.hpp>

#include <compare>

namespace weir {

class context_ref;

// The priorities that streams of a device may have. A smaller number is served earlier, so
// `greatest` is the smaller of the two; both are 0 on a device without priorities. A priority is a
// hint for scheduling: it pre-empts nothing and does not touch copies.
struct priority_range {
  int least = 0;
  int greatest = 0;

  [[nodiscard]] constexpr bool contains(int priority) const noexcept {
    return greatest <= priority && priority <= least;
  }
  // The nearest priority that the device has.
  [[nodiscard]] constexpr int clamped(int priority) const noexcept {
    return priority > least ? least : priority < greatest ? greatest : priority;
  }
  friend constexpr bool operator==(const priority_range&, const priority_range&) noexcept = default;
};

struct compute_capability {
  int major = 0;
  int minor = 0;
  friend constexpr auto operator<=>(const compute_capability&,
                                    const compute_capability&) noexcept = default;
};

// In bytes.
struct memory_info {
  unsigned long long free = 0;
  unsigned long long total = 0;
};

struct device_uuid {
  unsigned char bytes[16] = {};
  friend constexpr bool operator==(const device_uuid&, const device_uuid&) noexcept = default;
};

// What device::attribute() can be asked for, with the driver's numbers; any other
// CUdevice_attribute can be cast to this.
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

// One device, by its number. A plain value: it owns nothing and makes no driver call until it is
// asked something. A number that the driver does not have is found at the first question
// (errc::invalid_device). Thread safety: all of it, from any thread. In a capture: allowed, unless
// said otherwise. In a host function: refused. None of it changes which context is current for the
// caller.
class WEIR_EXPORT device {
 public:
  constexpr explicit device(int ordinal = 0) noexcept : ordinal_{ordinal} {}

  // How many devices the driver in use has; never fails, 0 if there is none. cuDeviceGetCount.
  [[nodiscard]] static int count() noexcept;

  // All of them, for a range-based for.
  [[nodiscard]] static device_list all() noexcept;

  [[nodiscard]] constexpr int ordinal() const noexcept { return ordinal_; }

  // The text lives as long as the program. cuDeviceGetName.
  [[nodiscard]] const char* name(call_site at = call_site::current()) const;

  // "0000:65:00.0"; the text lives as long as the program. cuDeviceGetPCIBusId.
  [[nodiscard]] const char* pci_bus_id(call_site at = call_site::current()) const;

  // The same in every process of this machine. cuDeviceGetUuid.
  [[nodiscard]] device_uuid uuid(call_site at = call_site::current()) const;

  // cuDeviceGetAttribute.
  [[nodiscard]] int attribute(device_attribute which, call_site at = call_site::current()) const;
  [[nodiscard]] weir::compute_capability compute_capability(
      call_site at = call_site::current()) const;

  // The priorities that its streams may have; asked once, then remembered.
  // cuCtxGetStreamPriorityRange.
  [[nodiscard]] priority_range priorities(call_site at = call_site::current()) const;

  // What is free now, and what there is. cuMemGetInfo.
  [[nodiscard]] memory_info memory(call_site at = call_site::current()) const;

  // Can kernels of this device reach the memory of the other one directly? cuDeviceCanAccessPeer.
  [[nodiscard]] bool can_access(device peer, call_site at = call_site::current()) const;

  // Is this a device of the embedded driver, with host memory and no GPU?
  [[nodiscard]] bool is_embedded() const noexcept;

  // Its primary context, the one that the CUDA runtime uses too. weir retains it at the first use
  // and keeps it until the program ends, so that no stream or buffer outlives it; resetting it
  // behind weir's back (cudaDeviceReset) destroys them all. cuDevicePrimaryCtxRetain.
  [[nodiscard]] context_ref primary_context(call_site at = call_site::current()) const;

  // Blocks the calling thread until all work of the device's primary context is done, whoever
  // queued it; throws what that work failed with. Returns at once if nothing has used the device.
  // In any capture of that context: the driver refuses it and drops the capture. cuCtxSynchronize.
  void sync(call_site at = call_site::current()) const;

  friend constexpr bool operator==(device, device) noexcept = default;

 private:
  int ordinal_;
};

// The devices 0 to count-1.
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
