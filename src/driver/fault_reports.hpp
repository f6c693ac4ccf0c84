// SPDX-License-Identifier: Apache-2.0
// driver/fault_reports.hpp - fault reports of a device, in place of polling for faults.
#pragma once

namespace weir::detail {

// `none`: no report within the time limit. `fault`: the device has reported a fault. `unavailable`:
// no reports will follow.
enum class fault_report : unsigned char { none, fault, unavailable };

// A source of fault reports, for a thread that waits for them. Any failure means that there are no
// reports.
struct fault_reports {
  // Begins to collect reports of the device with this PCI bus id. Returns the object to wait for,
  // or null if reports are not available.
  void* (*register_events)(const char* bus_id) noexcept;
  // Blocks until there is a report, for one second at most.
  fault_report (*wait)(void* event_set) noexcept;
};

// Returns the reports of NVML, the vendor's management library, or of the file that WEIR_NVML
// names. They are the kernel driver's Xid errors, including those that other processes cause. The
// library is opened by the first register_events(), which takes 10 to 20 ms.
[[nodiscard]] const fault_reports& vendor_fault_reports() noexcept;

}  // namespace weir::detail
