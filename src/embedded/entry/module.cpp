// entry/module.cpp - cuModule*: code and variables in a context.
#include "embedded/model/module.hpp"

#include <string>

#include "embedded/entry/entry.hpp"
#include "embedded/entry/guard.hpp"

namespace weir::embedded::entry {

CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  return guarded_outside_host_functions([&](model::process&) -> CUresult {
    if (module == nullptr || image == nullptr) return CUDA_ERROR_INVALID_VALUE;
    model::context* context = nullptr;
    if (const CUresult status = current_context(context); status != CUDA_SUCCESS) return status;
    kernel::image_bytes bytes;
    std::string complaint;
    const CUresult status = kernel::image_bytes::copy_of(image, bytes, complaint);
    return status == CUDA_SUCCESS ? model::modules::load(context->base(), bytes, module, complaint) : status;
  });
}

CUresult cuModuleUnload(CUmodule module) {
  return guarded_outside_captures([&](model::process&) { return model::modules::unload(module); });
}

CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  return guarded_outside_host_functions([&](model::process&) -> CUresult {
    if (function == nullptr || name == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return model::modules::get_function(module, name, function);
  });
}

CUresult cuModuleGetGlobal_v2(CUdeviceptr* address, size_t* bytes, CUmodule module, const char* name) {
  return guarded_outside_host_functions([&](model::process&) -> CUresult {
    if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return model::modules::get_variable(module, name, address, bytes);
  });
}

}  // namespace weir::embedded::entry
