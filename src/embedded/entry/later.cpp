// entry/later.cpp - functions of later.def that say what is wrong with their arguments, though they can do nothing with right ones.
#include "embedded/entry/entry.hpp"
#include "embedded/entry/guard.hpp"

namespace weir::embedded::entry {

CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  return guarded_outside_host_functions([&](model::process&) -> CUresult {
    return module == nullptr || image == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_NOT_SUPPORTED;
  });
}

}  // namespace weir::embedded::entry
