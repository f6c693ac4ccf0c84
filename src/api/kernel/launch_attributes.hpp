// SPDX-License-Identifier: Apache-2.0
// api/kernel/launch_attributes.hpp - the options of a launch beyond cuLaunchKernel's arguments, as
// attributes of the driver.
#pragma once

#include "driver/abi.hpp"

#include <weir/kernel/launch_config.hpp>

#include <array>

namespace weir::detail {

// The attributes that `config` needs. The object must stay at its address while the driver uses
// driver_config(), which points into it.
class launch_attributes {
 public:
  explicit launch_attributes(const launch_config& config) noexcept {
    if (config.cluster.x != 0) {
      add(abi::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION).clusterDim = {
          config.cluster.x, config.cluster.y, config.cluster.z};
    }
    if (config.cooperative) add(abi::CU_LAUNCH_ATTRIBUTE_COOPERATIVE).cooperative = 1;
    if (config.priority) add(abi::CU_LAUNCH_ATTRIBUTE_PRIORITY).priority = *config.priority;
    if (config.programmatic) {
      add(abi::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
          .programmaticStreamSerializationAllowed = 1;
    }
  }

  [[nodiscard]] abi::CUlaunchConfig driver_config(const launch_config& config,
                                                  abi::CUstream stream) noexcept {
    return {config.grid.x,  config.grid.y,       config.grid.z, config.block.x, config.block.y,
            config.block.z, config.shared_bytes, stream,        all_.data(),    count_};
  }

  [[nodiscard]] const abi::CUlaunchAttribute* begin() const noexcept { return all_.data(); }
  [[nodiscard]] const abi::CUlaunchAttribute* end() const noexcept { return all_.data() + count_; }

 private:
  abi::CUlaunchAttributeValue& add(abi::CUlaunchAttributeID id) noexcept {
    abi::CUlaunchAttribute& next = all_[count_++];
    next = {};
    next.id = id;
    return next.value;
  }

  std::array<abi::CUlaunchAttribute, 4> all_;
  unsigned count_ = 0;
};

}  // namespace weir::detail
