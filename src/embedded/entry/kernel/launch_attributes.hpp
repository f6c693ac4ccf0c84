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

// The attributes of a launch. Attributes without a member are checked and ignored.
struct launch_attributes {
  model::launch_shape shape;
  std::optional<int> priority;
  // True if the program allows the kernel to begin before the previous kernel has ended.
  bool programmatic = false;
  // Attributes without effect here, which a captured node reports.
  std::map<abi::CUkernelNodeAttrID, abi::CUkernelNodeAttrValue> inert_attributes;
  weir_extent preferred_cluster{0, 0, 0};  // zero: none
  // If not null: recorded when all earlier work is complete and the kernel is about to start.
  model::event* started_event = nullptr;
  model::event* done_event = nullptr;  // if not null: recorded when the kernel is complete
};

// Reads the attributes of a launch. `active_capture`: the capture of the launch's stream, or null.
// Returns CUDA_ERROR_INVALID_VALUE for an unknown attribute or value, and CUDA_ERROR_INVALID_HANDLE
// for an invalid event. Returns another error for an event with timing, for
// CU_EVENT_RECORD_EXTERNAL, and for a node that kernels update. Throws std::bad_alloc.
abi::CUresult read_attributes(std::span<const abi::CUlaunchAttribute> attributes,
                              const model::capture* active_capture, launch_attributes& out);

// Checks the value of an attribute without effect. Returns CUDA_ERROR_INVALID_VALUE for an invalid
// value, and for any attribute that has an effect or is unknown.
abi::CUresult check_inert_attribute(abi::CUlaunchAttributeID attribute,
                                    const abi::CUlaunchAttributeValue& value) noexcept;

}  // namespace weir::embedded::entry
