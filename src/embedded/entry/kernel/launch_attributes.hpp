// entry/launch_attributes.hpp - what a program says of a launch beyond its sizes.
#pragma once

#include <map>
#include <optional>
#include <span>

#include "driver/abi.hpp"
#include "embedded/model/core/process.hpp"
#include "embedded/model/kernel/launch_shape.hpp"

namespace weir::embedded::entry {

// What follows from the attributes of a launch; the others are accepted and have no effect here.
struct launch_attributes {
  model::launch_shape shape;
  std::optional<int> priority;
  bool programmatic = false;  // may begin before the kernel before it has ended
  std::map<abi::CUkernelNodeAttrID, abi::CUkernelNodeAttrValue>
      inert_attributes;                    // those that a node only tells again
  weir_extent preferred_cluster{0, 0, 0};  // none
  model::event* started_event =
      nullptr;  // recorded where everything before it is complete, and the kernel is next
  model::event* done_event = nullptr;  // recorded when the kernel is complete: never too early
};

// Reads them, for a launch into a stream that captures or does not. CUDA_ERROR_INVALID_VALUE for
// what is no attribute of a launch, or no value of it; CUDA_ERROR_INVALID_HANDLE for an event that
// is none, CUDA_ERROR_NOT_SUPPORTED for one that tells the time. Throws std::bad_alloc.
abi::CUresult read_attributes(model::process& p, std::span<const abi::CUlaunchAttribute> all,
                              bool captures, launch_attributes& out);

// Is this a value of one that a node only tells again? CUDA_ERROR_INVALID_VALUE where not, or where
// it is another attribute.
abi::CUresult check_inert_attribute(abi::CUlaunchAttributeID which,
                                    const abi::CUlaunchAttributeValue& value) noexcept;

// A priority as a stream or a node has it: one out of range is brought into it.
int priority_in_range(int asked) noexcept;

}  // namespace weir::embedded::entry
