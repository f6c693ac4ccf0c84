// SPDX-License-Identifier: Apache-2.0
// embedded/entry/kernel/function.cpp - cuFunc*: functions of modules. Handles of library kernels
// are an error here.
#include "embedded/model/kernel/function.hpp"

#include <memory>

#include "embedded/entry/entry.hpp"
#include "embedded/entry/guard.hpp"
#include "embedded/entry/kernel/parameter_info.hpp"
#include "embedded/model/kernel/module.hpp"

namespace weir::embedded::entry {

namespace {

// Runs body(function) for the function of a handle. Keeps the function's image, so that it is not
// unloaded during the call. Returns an error if the module was unloaded.
template <class Body>
CUresult with_function(CUfunction handle, Body&& body) {
  return guarded_outside_host_functions([&](model::process& p) {
    model::function* const found = p.functions.find(handle);
    if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (const CUresult error = found->owner().status()) return error;
    const std::shared_ptr<const model::module_image> image = found->image();
    return image ? body(*found) : CUDA_ERROR_INVALID_HANDLE;
  });
}

// Like with_function(), but a null function gives CUDA_ERROR_INVALID_VALUE.
template <class Body>
CUresult with_function_not_null(CUfunction handle, Body&& body) {
  if (handle == nullptr)
    return guarded_outside_host_functions([](model::process&) { return CUDA_ERROR_INVALID_VALUE; });
  return with_function(handle, body);
}

}  // namespace

CUresult cuFuncGetName(const char** name, CUfunction function) {
  if (name == nullptr)
    return guarded_outside_host_functions([](model::process&) { return CUDA_ERROR_INVALID_VALUE; });
  return with_function_not_null(function, [&](const model::function& found) {
    *name = found.kernel().name;
    return CUDA_SUCCESS;
  });
}

CUresult cuFuncGetModule(CUmodule* module, CUfunction function) {
  return with_function_not_null(function, [&](const model::function& found) {
    if (module == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *module = found.module().handle();
    return CUDA_SUCCESS;
  });
}

CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction function) {
  return with_function(function, [&](const model::function& found) {
    if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
    int result = 0;
    const CUresult status = found.attribute(attribute, result);
    if (status == CUDA_SUCCESS) *value = result;
    return status;
  });
}

CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
  return with_function(function,
                       [&](model::function& found) { return found.set(attribute, value); });
}

CUresult cuFuncGetParamInfo(CUfunction function, size_t index, size_t* offset, size_t* size) {
  return with_function_not_null(function, [&](const model::function& found) {
    return get_parameter_info(found.kernel(), index, offset, size);
  });
}

CUresult cuFuncIsLoaded(CUfunctionLoadingState* state, CUfunction function) {
  return with_function(function, [&](const model::function& found) {
    if (state == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *state = found.loaded() ? CU_FUNCTION_LOADING_STATE_LOADED : CU_FUNCTION_LOADING_STATE_UNLOADED;
    return CUDA_SUCCESS;
  });
}

CUresult cuFuncLoad(CUfunction function) {
  return with_function(function, [&](model::function& found) {
    found.load();
    return CUDA_SUCCESS;
  });
}

CUresult cuFuncSetCacheConfig(CUfunction function, CUfunc_cache config) {
  return with_function(function, [&](model::function& found) {
    if (config > CU_FUNC_CACHE_PREFER_EQUAL) return CUDA_ERROR_INVALID_VALUE;
    found.set_cache_config(config);
    return CUDA_SUCCESS;
  });
}

// The width of shared memory banks cannot be changed.
CUresult cuFuncSetSharedMemConfig(CUfunction function, CUsharedconfig config) {
  return with_function(function, [&](const model::function&) {
    return config <= CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE ? CUDA_SUCCESS
                                                               : CUDA_ERROR_INVALID_VALUE;
  });
}

}  // namespace weir::embedded::entry
