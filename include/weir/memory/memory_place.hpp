// weir/memory/memory_place.hpp - where memory can be that is not bound to one device.
#pragma once

#include <weir/device/device.hpp>

namespace weir {

// On a device, or on the host, there on any of its NUMA nodes or on one. A plain value.
class memory_place {
 public:
  constexpr memory_place(device gpu) noexcept : kind_{kind::device}, id_{gpu.ordinal()} {}
  [[nodiscard]] static constexpr memory_place host() noexcept { return {kind::host, 0}; }
  [[nodiscard]] static constexpr memory_place host_node(int node) noexcept { return {kind::host_node, node}; }
  [[nodiscard]] static constexpr memory_place host_node_of_caller() noexcept { return {kind::callers_node, 0}; }

  // As the driver's CUmemLocation.
  [[nodiscard]] constexpr unsigned type() const noexcept { return static_cast<unsigned>(kind_); }
  [[nodiscard]] constexpr int id() const noexcept { return id_; }
  [[nodiscard]] constexpr bool is_device() const noexcept { return kind_ == kind::device; }
  friend constexpr bool operator==(memory_place, memory_place) noexcept = default;

 private:
  enum class kind : unsigned { device = 1, host = 2, host_node = 3, callers_node = 4 };
  constexpr memory_place(kind k, int id) noexcept : kind_{k}, id_{id} {}

  kind kind_;
  int id_;
};

}  // namespace weir
