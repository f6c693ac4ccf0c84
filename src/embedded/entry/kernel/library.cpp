// SPDX-License-Identifier: Apache-2.0
// embedded/entry/kernel/library.cpp - cuLibrary*: code that needs no context until it is used.
#include "embedded/model/kernel/library.hpp"

#include <string>
#include <utility>

#include "embedded/entry/entry.hpp"
#include "embedded/entry/guard.hpp"
#include "embedded/entry/kernel/jit_options.hpp"

namespace weir::embedded::entry {

namespace {

struct jit_arguments {
  const CUjit_option* options;
  void** values;
  unsigned count;
};

struct load_options {
  const CUlibraryOption* options;
  void** values;
  unsigned count;
};

bool are_known(const load_options& requested) {
  if (requested.count == 0) return true;
  if (requested.options == nullptr) return false;
  for (unsigned i = 0; i < requested.count; ++i) {
    switch (requested.options[i]) {
      case CU_LIBRARY_HOST_UNIVERSAL_FUNCTION_AND_DATA_TABLE:
        if (requested.values == nullptr) return false;
        break;
      case CU_LIBRARY_BINARY_IS_PRESERVED: break;
      default: return false;
    }
  }
  return true;
}

// Returns true if the error describes the code itself, not a failure to read it.
bool is_code_error(CUresult load_error) {
  return load_error == CUDA_ERROR_INVALID_IMAGE || load_error == CUDA_ERROR_INVALID_PTX ||
         load_error == CUDA_ERROR_NO_BINARY_FOR_GPU;
}

// Makes a library from the image that read_image(bytes, diagnostic) reads. If the code itself is
// bad, makes a library whose uses return the error. `source` is only checked for null.
template <class ReadImage>
CUresult load(CUlibrary* library, const void* source, const jit_arguments& jit,
              const load_options& options, ReadImage&& read_image) {
  jit_options jit_settings;
  const CUresult read_status =
      guarded([&] { return jit_settings.read(jit.count, jit.options, jit.values); });
  if (read_status != CUDA_SUCCESS) return read_status;
  return guarded_outside_host_functions([&] {
    if (library == nullptr || source == nullptr || !are_known(options))
      return CUDA_ERROR_INVALID_VALUE;
    kernel::image_bytes bytes;
    std::string diagnostic;
    const CUresult load_error = read_image(bytes, diagnostic);
    const bool is_library = load_error == CUDA_SUCCESS || is_code_error(load_error);
    const CUresult status =
        is_library ? model::libraries::load(std::move(bytes), load_error, library, diagnostic)
                   : load_error;
    jit_settings.write(diagnostic, load_error);
    return status;
  });
}

}  // namespace

CUresult cuLibraryLoadData(CUlibrary* library, const void* code, CUjit_option* jit,
                           void** jit_values, unsigned jit_count, CUlibraryOption* options,
                           void** values, unsigned count) {
  const auto read_image = [&](kernel::image_bytes& bytes, std::string& diagnostic) {
    return kernel::image_bytes::copy_of(code, bytes, diagnostic);
  };
  return load(library, code, {jit, jit_values, jit_count}, {options, values, count}, read_image);
}

CUresult cuLibraryLoadFromFile(CUlibrary* library, const char* path, CUjit_option* jit,
                               void** jit_values, unsigned jit_count, CUlibraryOption* options,
                               void** values, unsigned count) {
  const auto read_image = [&](kernel::image_bytes& bytes, std::string& diagnostic) {
    return kernel::image_bytes::of_file(path, bytes, diagnostic);
  };
  return load(library, path != nullptr && *path != '\0' ? path : nullptr,
              {jit, jit_values, jit_count}, {options, values, count}, read_image);
}

CUresult cuLibraryUnload(CUlibrary library) {
  return guarded_outside_host_functions([&] {
    if (library == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    const CUresult status = model::check_unsafe_call();
    return status == CUDA_SUCCESS ? model::libraries::unload(library) : status;
  });
}

CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary library, const char* name) {
  return guarded_outside_host_functions([&] {
    if (kernel == nullptr || name == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return model::libraries::get_kernel(library, name, kernel);
  });
}

CUresult cuLibraryGetKernelCount(unsigned* count, CUlibrary library) {
  return guarded_outside_host_functions([&] {
    return count != nullptr ? model::libraries::count_kernels(library, count)
                            : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuLibraryEnumerateKernels(CUkernel* kernels, unsigned count, CUlibrary library) {
  return guarded_outside_host_functions([&] {
    if (kernels == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return model::libraries::list_kernels(library, {kernels, count});
  });
}

CUresult cuLibraryGetModule(CUmodule* module, CUlibrary library) {
  return guarded_outside_host_functions([&] {
    if (module == nullptr) return CUDA_ERROR_INVALID_VALUE;
    model::context* context = nullptr;
    if (const CUresult error = current_context(context)) return error;
    // The modules of a green context belong to its primary context.
    return model::libraries::get_module(library, context->base(), module);
  });
}

CUresult cuLibraryGetGlobal(CUdeviceptr* address, size_t* bytes, CUlibrary library,
                            const char* name) {
  return guarded_outside_host_functions([&] {
    if ((address == nullptr && bytes == nullptr) || name == nullptr)
      return CUDA_ERROR_INVALID_VALUE;
    model::context* context = nullptr;
    if (const CUresult error = current_context(context)) return error;
    return model::libraries::get_variable(library, context->base(), name, address, bytes);
  });
}

CUresult cuLibraryGetManaged(CUdeviceptr* address, size_t* bytes, CUlibrary library,
                             const char* name) {
  return guarded_outside_host_functions([&] {
    if ((address == nullptr && bytes == nullptr) || name == nullptr)
      return CUDA_ERROR_INVALID_VALUE;
    model::context* const current = model::this_thread().current();
    model::context* const owner_context = current != nullptr ? &current->base() : nullptr;
    return model::libraries::get_managed(library, owner_context, name, address, bytes);
  });
}

// Returns an error in all cases, because images have no functions that are valid on host and device
// at one address.
CUresult cuLibraryGetUnifiedFunction(void** function, CUlibrary library, const char* name) {
  return guarded_outside_host_functions([&] {
    if (function == nullptr || name == nullptr) return CUDA_ERROR_INVALID_VALUE;
    unsigned kernels = 0;
    const CUresult status = model::libraries::count_kernels(library, &kernels);
    return status == CUDA_SUCCESS ? CUDA_ERROR_INVALID_VALUE : status;
  });
}

}  // namespace weir::embedded::entry
