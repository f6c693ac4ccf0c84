// SPDX-License-Identifier: Apache-2.0
// embedded/entry/kernel/kernel.cpp - cuKernel*: kernels of libraries.
#include "embedded/entry/entry.hpp"
#include "embedded/entry/guard.hpp"
#include "embedded/entry/kernel/parameter_info.hpp"
#include "embedded/model/kernel/library.hpp"

namespace weir::embedded::entry {

namespace {

// Looks up a library's kernel and calls body(view) with its kernel_view.
template <class Body>
CUresult with_kernel(CUkernel kernel, Body&& body) {
  return guarded_outside_host_functions([&](model::process&) {
    model::libraries::kernel_view view;
    const CUresult status = model::libraries::get_kernel_view(kernel, view);
    return status == CUDA_SUCCESS ? body(view) : status;
  });
}

}  // namespace

CUresult cuKernelGetFunction(CUfunction* function, CUkernel kernel) {
  return guarded_outside_host_functions([&](model::process&) {
    if (function == nullptr) return CUDA_ERROR_INVALID_VALUE;
    model::context* context = nullptr;
    if (const CUresult error = current_context(context)) return error;
    return model::libraries::get_function(kernel, context->base(), function);
  });
}

CUresult cuKernelGetName(const char** name, CUkernel kernel) {
  if (name == nullptr || kernel == nullptr) {
    return guarded_outside_host_functions([](model::process&) { return CUDA_ERROR_INVALID_VALUE; });
  }
  return with_kernel(kernel, [&](const model::libraries::kernel_view& view) {
    *name = view.image_kernel->name;
    return CUDA_SUCCESS;
  });
}

CUresult cuKernelGetLibrary(CUlibrary* library, CUkernel kernel) {
  return with_kernel(kernel, [&](const model::libraries::kernel_view& view) {
    if (library == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *library = view.library;
    return CUDA_SUCCESS;
  });
}

CUresult cuKernelGetParamInfo(CUkernel kernel, size_t index, size_t* offset, size_t* size) {
  if (kernel == nullptr)
    return guarded_outside_host_functions([](model::process&) { return CUDA_ERROR_INVALID_VALUE; });
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
    int result = 0;
    if (!model::get_attribute(*view.image_kernel, set, nullptr, view.image->constant_bytes(),
                              attribute, result)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    *value = result;
    return CUDA_SUCCESS;
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
