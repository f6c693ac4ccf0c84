// entry/with_failure.hpp - what calls answer that end something, once the device has failed.
#pragma once

#include "driver/abi.hpp"
#include "embedded/engine/waiting.hpp"

namespace weir::embedded::entry {

// It has ended all the same; the answer is what went wrong with that, or else what the device has failed with.
inline abi::CUresult with_failure(abi::CUresult ended) noexcept {
  return ended != abi::CUDA_SUCCESS ? ended : engine::device_failure();
}

}  // namespace weir::embedded::entry
