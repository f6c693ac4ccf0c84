// SPDX-License-Identifier: Apache-2.0
// weir/memory/memory_location.hpp - where memory is, or is to be: on a device or on the host.
#pragma once

#include <weir/device/device.hpp>

namespace weir {

/// A place for memory: a device, the host, or a NUMA node of the host. A plain value.
class memory_location {
 public:
  /// The memory of a device.
  constexpr memory_location(device gpu) noexcept : kind_{kind::device}, id_{gpu.ordinal()} {}
  /// The host, on any NUMA node.
  [[nodiscard]] static constexpr memory_location host() noexcept { return {kind::host, 0}; }
  /// A NUMA node of the host.
  [[nodiscard]] static constexpr memory_location host_node(int node) noexcept {
    return {kind::host_node, node};
  }
  /// The NUMA node on which the calling thread runs when the driver uses the location.
  [[nodiscard]] static constexpr memory_location current_host_node() noexcept {
    return {kind::current_host_node, 0};
  }

  /// Returns the type of the driver's CUmemLocation.
  [[nodiscard]] constexpr unsigned type() const noexcept { return static_cast<unsigned>(kind_); }
  /// Returns the id of the driver's CUmemLocation: the ordinal of a device, or the number of a NUMA
  /// node.
  [[nodiscard]] constexpr int id() const noexcept { return id_; }
  /// Returns true if this is the memory of a device.
  [[nodiscard]] constexpr bool is_device() const noexcept { return kind_ == kind::device; }
  friend constexpr bool operator==(memory_location, memory_location) noexcept = default;

 private:
  enum class kind : unsigned { device = 1, host = 2, host_node = 3, current_host_node = 4 };
  constexpr memory_location(kind k, int id) noexcept : kind_{k}, id_{id} {}

  kind kind_;
  int id_;
};

}  // namespace weir
