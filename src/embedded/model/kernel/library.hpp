// SPDX-License-Identifier: Apache-2.0
// embedded/model/kernel/library.hpp - libraries: code that is loaded into a context at its first
// use there.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "driver/abi.hpp"
#include "embedded/kernel/image/image_bytes.hpp"
#include "embedded/model/kernel/function.hpp"
#include "embedded/model/kernel/module_image.hpp"

namespace weir::embedded::model {

class context;
struct loaded_module;
struct library;

// A kernel of a library, independent of contexts. Objects are reused together with their settings
// (handle_table.hpp).
struct library_kernel {
  library* owner = nullptr;
  // The index of the kernel in module_image::kernels().
  std::size_t index = 0;
  // The attributes that the program has set, one element per device.
  std::unique_ptr<function_settings[]> settings;
};

// A library. Objects are reused (handle_table.hpp). The members are guarded by
// process::modules_mutex. The image, the kernels and load_error do not change during a lifetime.
struct library {
  // The error of invalid code; calls that use the code return it.
  abi::CUresult load_error = abi::CUDA_SUCCESS;
  // A copy of the code, for loading into the second and further contexts.
  kernel::image_bytes bytes;
  // The loaded code, which is also the image of the first context that uses the library. Null if
  // loading failed.
  std::shared_ptr<const module_image> image;
  // True once a context has used `image`; other contexts then load their own.
  bool image_in_use = false;
  std::vector<library_kernel*> kernels;  // in the order of module_image::kernels()
  // The library's module in each context into which it is loaded.
  std::unordered_map<context*, loaded_module*> modules_by_context;

  // Returns the settings of a kernel for the device of `context_module`, a module of this library.
  [[nodiscard]] const function_settings* settings_of(const loaded_module& context_module,
                                                     const weir_kernel& kernel) const noexcept;
};

// The functions in this namespace return the driver's codes and throw std::bad_alloc. They return
// CUDA_ERROR_INVALID_HANDLE for an invalid library or kernel, and CUDA_ERROR_NOT_FOUND for an
// unknown name. Pointers to results must not be null, except `address` and `bytes`. Thread safety:
// all functions may be called from any thread.
namespace libraries {

// Loads an image without a context. As on a GPU, errors in the code are not reported here.
// `load_error`: CUDA_SUCCESS, or the error for which the caller has rejected the code. If the
// caller or the host's loader rejected the code, all calls that use it return that error.
// count_kernels() and list_kernels() then find no kernels, and unload() succeeds.
abi::CUresult load(kernel::image_bytes bytes, abi::CUresult load_error, abi::CUlibrary* out,
                   std::string& diagnostic);

// cuLibraryUnload: waits for the work of all contexts into which the library was loaded, then
// invalidates the handles of its kernels and functions.
abi::CUresult unload(abi::CUlibrary library);

abi::CUresult get_kernel(abi::CUlibrary library, const char* name, abi::CUkernel* out);
abi::CUresult count_kernels(abi::CUlibrary library, unsigned* out);
// Stores as many kernels as fit, and leaves the rest of `out` unchanged.
abi::CUresult list_kernels(abi::CUlibrary library, std::span<abi::CUkernel> out);

// Gets the library's module in a context. The first call of get_module(), get_variable() or
// get_function() for a context loads the library into the context.
abi::CUresult get_module(abi::CUlibrary library, context& target_context, abi::CUmodule* out);
// Gets the address and size of a variable of the library in a context. Loads the library like
// get_module().
abi::CUresult get_variable(abi::CUlibrary library, context& target_context, const char* name,
                           abi::CUdeviceptr* address, std::size_t* bytes);
// Gets the function of a library's kernel in a context. Loads the library like get_module().
abi::CUresult get_function(abi::CUkernel kernel, context& target_context, abi::CUfunction* out);

// cuLibraryGetManaged: gets a managed variable of the first context into which the library was
// loaded. If there is none, loads the library into `target_context`; if that is null, loads
// nothing.
abi::CUresult get_managed(abi::CUlibrary library, context* target_context, const char* name,
                          abi::CUdeviceptr* address, std::size_t* bytes);

// A library's kernel and its data. `kernel` is valid until the library is unloaded, `image_kernel`
// while `image` exists.
struct kernel_view {
  std::shared_ptr<const module_image> image;
  library_kernel* kernel = nullptr;
  const weir_kernel* image_kernel = nullptr;
  abi::CUlibrary library = nullptr;
};
abi::CUresult get_kernel_view(abi::CUkernel kernel, kernel_view& out);

}  // namespace libraries

}  // namespace weir::embedded::model
