// SPDX-License-Identifier: Apache-2.0
// cases/stream/attributes.hpp - values of stream attributes.
#pragma once

#include "probe/abi.hpp"

#include <cstring>

namespace weir::conformance {

// Returns a value with all bytes 0, including padding.
inline CUstreamAttrValue no_value() {
  CUstreamAttrValue v;
  memset(&v, 0, sizeof v);
  return v;
}

}  // namespace weir::conformance
