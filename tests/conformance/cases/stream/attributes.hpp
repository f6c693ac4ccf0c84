// cases/attributes.hpp - values of stream attributes.
#pragma once

#include "probe/abi.hpp"

#include <cstring>

namespace weir::conformance {

// All zero, also where no member is.
inline CUstreamAttrValue no_value() {
  CUstreamAttrValue v;
  memset(&v, 0, sizeof v);
  return v;
}

}  // namespace weir::conformance
