// SPDX-License-Identifier: Apache-2.0
// probe/abi.hpp - CUDA's own names for the types and values of the driver API, without a toolkit.
#pragma once

#include "driver/abi.hpp"

namespace weir::conformance {
using namespace abi;
}  // namespace weir::conformance
