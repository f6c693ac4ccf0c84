// entry/launch_attributes.hpp - what a program says of a launch beyond its sizes.
#pragma once

#include <map>
#include <optional>
#include <span>

#include "driver/abi.hpp"
#include "embedded/model/launch_shape.hpp"
#include "embedded/model/process.hpp"

namespace weir::embedded::entry {

// What follows from the attributes of a launch; the others are accepted and have no effect here.
struct launch_attributes {
  model::launch_shape shape;
  std::optional<int> priority;
  std::map<abi::CUkernelNodeAttrID, abi::CUkernelNodeAttrValue> told;  // those that a node only tells again
  model::event* when_done =
      nullptr;  // events that the launch records. Here both are recorded when it is complete, which
  model::event* when_started = nullptr;  // is later than needs be, and so never too early
};

// Reads them. CUDA_ERROR_INVALID_VALUE for what is no attribute of a launch, or no value of it;
// CUDA_ERROR_INVALID_HANDLE for an event that is none. Throws std::bad_alloc.
abi::CUresult read_attributes(model::process& p, std::span<const abi::CUlaunchAttribute> all, launch_attributes& out);

}  // namespace weir::embedded::entry
