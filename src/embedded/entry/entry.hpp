// SPDX-License-Identifier: Apache-2.0
// embedded/entry/entry.hpp - declarations of the embedded driver's entry points, one for every line
// of functions.def.
#pragma once

#include "driver/abi.hpp"

namespace weir::embedded {

using namespace abi;

// Each function is defined in a source file below this folder. No function throws.
namespace entry {
#define WEIR_FUNCTION(symbol, base, version, variant, parameters, arguments) \
  CUresult symbol parameters;
#include "driver/functions.def"
#undef WEIR_FUNCTION
}  // namespace entry

}  // namespace weir::embedded
