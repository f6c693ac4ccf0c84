// weir/memory/memory_location.hpp - where memory can be that is not bound to one device.
#pragma once

#include <weir/device/device.hpp>

namespace weir {

// On a device, or on the host, there on any of its NUMA nodes or on one. A plain value.
class memory_location {
 public:
  constexpr memory_location(device gpu) noexcept : kind_{kind::device}, id_{gpu.ordinal()} {}
  [[nodiscard]] static constexpr memory_location host() noexcept { return {kind::host, 0}; }
  [[nodiscard]] static constexpr memory_location host_node(int node) noexcept {
    return {kind::host_node, node};
  }
  [[nodiscard]] static constexpr memory_location current_host_node() noexcept {
    return {kind::current_host_node, 0};
  }

  // As the driver's CUmemLocation.
  [[nodiscard]] constexpr unsigned type() const noexcept { return static_cast<unsigned>(kind_); }
  [[nodiscard]] constexpr int id() const noexcept { return id_; }
  [[nodiscard]] constexpr bool is_device() const noexcept { return kind_ == kind::device; }
  friend constexpr bool operator==(memory_location, memory_location) noexcept = default;

 private:
  enum class kind : unsigned { device = 1, host = 2, host_node = 3, current_host_node = 4 };
  constexpr memory_location(kind k, int id) noexcept : kind_{k}, id_{id} {}

  kind kind_;
  int id_;
};

}  // namespace weir
