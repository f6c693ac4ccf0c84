// SPDX-License-Identifier: Apache-2.0
// embedded/entry/kernel/launch_attributes.hpp - the attributes of a launch.
#pragma once

#include <map>
#include <optional>
#include <span>

#include "driver/abi.hpp"
#include "embedded/model/core/process.hpp"
#include "embedded/model/kernel/launch_shape.hpp"

namespace weir::embedded::entry {

// The attributes that have an effect. Other attributes are accepted and ignored.
struct launch_attributes {
  model::launch_shape shape;
  std::optional<int> priority;
  bool programmatic = false;  // may begin before the previous kernel has ended
  std::map<abi::CUkernelNodeAttrID, abi::CUkernelNodeAttrValue>
      inert_attributes;                    // attributes without effect, which a node only reports
  weir_extent preferred_cluster{0, 0, 0};  // zero: none
  model::event* started_event =
      nullptr;  // recorded when all earlier work is complete and the kernel is about to start
  model::event* done_event = nullptr;  // recorded when the kernel is complete, never earlier
};

// Reads the attributes for a launch into a stream with this capture, or null. Returns
// CUDA_ERROR_INVALID_VALUE for an unknown attribute or value, CUDA_ERROR_INVALID_HANDLE for an
// invalid event, and CUDA_ERROR_NOT_SUPPORTED for an event with timing. Throws std::bad_alloc.
abi::CUresult read_attributes(model::process& p, std::span<const abi::CUlaunchAttribute> attributes,
                              const model::capture* active_capture, launch_attributes& out);

// Validates the value of an attribute that a node only reports. Returns CUDA_ERROR_INVALID_VALUE
// for an invalid value and for any other attribute.
abi::CUresult check_inert_attribute(abi::CUlaunchAttributeID attribute,
                                    const abi::CUlaunchAttributeValue& value) noexcept;

// Clamps a priority to the range of streams and nodes.
int priority_in_range(int requested) noexcept;

}  // namespace weir::embedded::entry
