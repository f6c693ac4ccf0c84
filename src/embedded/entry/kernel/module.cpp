// SPDX-License-Identifier: Apache-2.0
// embedded/entry/kernel/module.cpp - cuModule*: code and variables in a context.
#include "embedded/model/kernel/module.hpp"

#include <string>

#include "embedded/entry/entry.hpp"
#include "embedded/entry/guard.hpp"
#include "embedded/entry/kernel/jit_options.hpp"

namespace weir::embedded::entry {

namespace {

// Loads the image that read_image(bytes, diagnostic) reads into the current context. `source` is
// only checked for null.
template <class ReadImage>
CUresult load(CUmodule* module, const void* source, const jit_options& options,
              ReadImage&& read_image) {
  return guarded_outside_host_functions(with_current_context([&](model::context& context) {
    if (module == nullptr || source == nullptr) return CUDA_ERROR_INVALID_VALUE;
    kernel::image_bytes bytes;
    std::string diagnostic;
    CUresult status = read_image(bytes, diagnostic);
    if (status == CUDA_SUCCESS)
      status = model::modules::load(context.base(), bytes, module, diagnostic);
    options.write(diagnostic, status);
    return status;
  }));
}

CUresult load_data(CUmodule* module, const void* image, const jit_options& options) {
  return load(module, image, options, [&](kernel::image_bytes& bytes, std::string& diagnostic) {
    return kernel::image_bytes::copy_of(image, bytes, diagnostic);
  });
}

}  // namespace

CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  return load_data(module, image, {});
}

CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned option_count,
                            CUjit_option* options, void** values) {
  jit_options jit_settings;
  const CUresult status = guarded([&] { return jit_settings.read(option_count, options, values); });
  return status == CUDA_SUCCESS ? load_data(module, image, jit_settings) : status;
}

CUresult cuModuleLoadFatBinary(CUmodule* module, const void* image) {
  return load_data(module, image, {});
}

CUresult cuModuleLoad(CUmodule* module, const char* path) {
  return load(module, path != nullptr && *path != '\0' ? path : nullptr, {},
              [&](kernel::image_bytes& bytes, std::string& diagnostic) {
                return kernel::image_bytes::of_file(path, bytes, diagnostic);
              });
}

CUresult cuModuleUnload(CUmodule module) {
  return guarded_outside_host_functions([&] {
    if (module == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    const CUresult status = model::check_unsafe_call();
    return status == CUDA_SUCCESS ? model::modules::unload(module) : status;
  });
}

CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  return guarded_outside_host_functions(
      [&] { return model::modules::get_function(module, name, function); });
}

CUresult cuModuleGetFunctionCount(unsigned* count, CUmodule module) {
  return guarded_outside_host_functions([&] {
    return count != nullptr ? model::modules::count_functions(module, count)
                            : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuModuleEnumerateFunctions(CUfunction* functions, unsigned count, CUmodule module) {
  return guarded_outside_host_functions([&] {
    if (functions == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return model::modules::list_functions(module, {functions, count});
  });
}

CUresult cuModuleGetGlobal_v2(CUdeviceptr* address, size_t* bytes, CUmodule module,
                              const char* name) {
  return guarded_outside_host_functions(
      [&] { return model::modules::get_variable(module, name, address, bytes); });
}

CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode* mode) {
  return guarded_outside_host_functions(
      [&] { return store(mode, model::modules::loading_mode()); });
}

}  // namespace weir::embedded::entry
