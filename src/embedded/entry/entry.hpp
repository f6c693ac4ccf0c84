// embedded/entry/entry.hpp - the embedded driver's face: one function for every line of
// functions.def.
#pragma once

#include "driver/abi.hpp"

namespace weir::embedded {

using namespace abi;

// Each is defined in the file of its family beside this one, but for those that later.def lists.
// None throws.
namespace entry {
#define WEIR_FUNCTION(symbol, base, version, variant, parameters, arguments) \
  CUresult symbol parameters;
#include "driver/functions.def"
#undef WEIR_FUNCTION
}  // namespace entry

}  // namespace weir::embedded
