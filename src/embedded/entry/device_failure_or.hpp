// entry/device_failure_or.hpp - what calls answer that end something, once the device has failed.
#pragma once

#include "driver/abi.hpp"
#include "embedded/engine/waiting.hpp"

namespace weir::embedded::entry {

// What can end has ended all the same; the answer is what the device has failed with, or else how
// that went.
inline abi::CUresult device_failure_or(abi::CUresult ended) noexcept {
  const abi::CUresult failure = engine::device_failure();
  return failure != abi::CUDA_SUCCESS ? failure : ended;
}

}  // namespace weir::embedded::entry
