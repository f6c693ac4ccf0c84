// driver/fault_reports.hpp - a system that tells of faults of a device, so that nobody has to ask
// for them.
#pragma once

namespace weir::detail {

enum class fault_report : unsigned char { none, fault, unavailable };

// Of a thread that waits for them. Whatever fails means that there are no reports.
struct fault_reports {
  // Begins to collect those of the device with that PCI bus id, and gives what to wait for; null if
  // there are none to be had.
  void* (*register_events)(const char* bus_id) noexcept;
  // Blocks until there is one, for a second at most.
  fault_report (*wait)(void* event_set) noexcept;
};

// Of the vendor's management library (NVML), or the file that WEIR_NVML names, opened when asked
// for: the kernel driver's Xid errors, also those that other processes cause. It takes 10 to 20 ms
// to begin.
[[nodiscard]] const fault_reports& vendor_fault_reports() noexcept;

}  // namespace weir::detail
