// SPDX-License-Identifier: Apache-2.0
// embedded/entry/kernel/function.cpp - cuFunc*: functions of modules, for which handles of library
// kernels are an error. cuKernel*: kernels of libraries.
#include "embedded/model/kernel/function.hpp"

#include <memory>
#include <optional>

#include "driver/abi/module_abi.h"
#include "embedded/entry/entry.hpp"
#include "embedded/entry/guard.hpp"
#include "embedded/model/kernel/library.hpp"
#include "embedded/model/kernel/module.hpp"

namespace weir::embedded::entry {

namespace {

// Runs body(function) for the function of a handle. Keeps the function's image, so that it is not
// unloaded during the call. Returns an error if the module was unloaded.
template <class Body>
CUresult with_function(CUfunction handle, Body&& body) {
  return guarded_outside_host_functions([&] {
    model::function* const found = model::this_process().functions.find(handle);
    if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (const CUresult error = found->owner().status()) return error;
    const std::shared_ptr<const model::module_image> image = found->image();
    return image ? body(*found) : CUDA_ERROR_INVALID_HANDLE;
  });
}

// Like with_function(), but a null function gives CUDA_ERROR_INVALID_VALUE.
template <class Body>
CUresult with_function_not_null(CUfunction handle, Body&& body) {
  if (handle == nullptr) return reject_argument();
  return with_function(handle, body);
}

// Looks up a library's kernel and calls body(view) with its kernel_view.
template <class Body>
CUresult with_kernel(CUkernel kernel, Body&& body) {
  return guarded_outside_host_functions([&] {
    model::libraries::kernel_view view;
    const CUresult status = model::libraries::get_kernel_view(kernel, view);
    return status == CUDA_SUCCESS ? body(view) : status;
  });
}

// Stores the offset of a parameter in the argument buffer, and its size unless `size` is null.
CUresult get_parameter_info(const weir_kernel& kernel, std::size_t index, std::size_t* offset,
                            std::size_t* size) noexcept {
  if (offset == nullptr || index >= kernel.parameter_count) return CUDA_ERROR_INVALID_VALUE;
  *offset = kernel.parameters[index].offset;
  if (size != nullptr) *size = kernel.parameters[index].size;
  return CUDA_SUCCESS;
}

}  // namespace

CUresult cuFuncGetName(const char** name, CUfunction function) {
  if (name == nullptr) return reject_argument();
  return with_function_not_null(
      function, [&](const model::function& found) { return store(name, found.kernel().name); });
}

CUresult cuFuncGetModule(CUmodule* module, CUfunction function) {
  return with_function_not_null(function, [&](const model::function& found) {
    return store(module, found.module().handle());
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
    return store(state, found.loaded() ? CU_FUNCTION_LOADING_STATE_LOADED
                                       : CU_FUNCTION_LOADING_STATE_UNLOADED);
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

CUresult cuKernelGetFunction(CUfunction* function, CUkernel kernel) {
  return guarded_outside_host_functions([&] {
    if (function == nullptr) return CUDA_ERROR_INVALID_VALUE;
    model::context* context = nullptr;
    if (const CUresult error = current_context(context)) return error;
    return model::libraries::get_function(kernel, context->base(), function);
  });
}

CUresult cuKernelGetName(const char** name, CUkernel kernel) {
  if (name == nullptr || kernel == nullptr) return reject_argument();
  return with_kernel(kernel, [&](const model::libraries::kernel_view& view) {
    return store(name, view.image_kernel->name);
  });
}

CUresult cuKernelGetLibrary(CUlibrary* library, CUkernel kernel) {
  return with_kernel(kernel, [&](const model::libraries::kernel_view& view) {
    return store(library, view.library);
  });
}

// Unlike cuKernelGetName, needs a current context.
CUresult cuKernelGetParamInfo(CUkernel kernel, size_t index, size_t* offset, size_t* size) {
  if (kernel == nullptr) return reject_argument();
  return with_kernel(kernel, [&](const model::libraries::kernel_view& view) {
    model::context* context = nullptr;
    const CUresult status = current_context(context);
    return status == CUDA_SUCCESS ? get_parameter_info(*view.image_kernel, index, offset, size)
                                  : status;
  });
}

CUresult cuKernelGetAttribute(int* value, CUfunction_attribute attribute, CUkernel kernel,
                              CUdevice device) {
  return with_kernel(kernel, [&](const model::libraries::kernel_view& view) {
    if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (model::this_process().find_device(device) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    const model::function_settings& set = view.kernel->settings[static_cast<std::size_t>(device)];
    const std::optional<int> result = model::get_attribute(*view.image_kernel, set, nullptr,
                                                           view.image->constant_bytes(), attribute);
    return result ? store(value, *result) : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel kernel,
                              CUdevice device) {
  return with_kernel(kernel, [&](const model::libraries::kernel_view& view) {
    if (model::this_process().find_device(device) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    return model::set_attribute(*view.image_kernel,
                                view.kernel->settings[static_cast<std::size_t>(device)], attribute,
                                value);
  });
}

CUresult cuKernelSetCacheConfig(CUkernel kernel, CUfunc_cache config, CUdevice device) {
  return with_kernel(kernel, [&](const model::libraries::kernel_view& view) {
    if (config > CU_FUNC_CACHE_PREFER_EQUAL) return CUDA_ERROR_INVALID_VALUE;
    if (model::this_process().find_device(device) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    view.kernel->settings[static_cast<std::size_t>(device)].set_cache_config(config);
    return CUDA_SUCCESS;
  });
}

}  // namespace weir::embedded::entry
