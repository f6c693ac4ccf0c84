// SPDX-License-Identifier: Apache-2.0
// model/kernel/library.hpp - libraries: code that is loaded into a context at its first use there.
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
  std::size_t index = 0;                          // in the image's kernels
  std::unique_ptr<function_settings[]> settings;  // an element per device
};

// A library. Objects are reused (handle_table.hpp). The members are guarded by
// process::modules_mutex. The image, the kernels and load_error do not change during a lifetime.
struct library {
  abi::CUresult load_error = abi::CUDA_SUCCESS;  // the error of invalid code, returned at its use
  kernel::image_bytes bytes;                     // for loading into further contexts
  // Describes the contents; also the image of the first context. Null if loading failed.
  std::shared_ptr<const module_image> image;
  bool image_in_use = false;             // true if the first context uses `image`
  std::vector<library_kernel*> kernels;  // in the image's order
  std::unordered_map<context*, loaded_module*> modules_by_context;

  // Returns the settings of a kernel on the device of one of the library's modules.
  [[nodiscard]] const function_settings* settings_of(const loaded_module& context_module,
                                                     const weir_kernel& kernel) const noexcept;
};

// The functions below return the driver's codes and throw std::bad_alloc. They return
// CUDA_ERROR_INVALID_HANDLE for an invalid library or kernel, and CUDA_ERROR_NOT_FOUND for an
// unknown name. Pointers to results must not be null. Thread safety: all functions may be called
// from any thread.
namespace libraries {

// Loads an image; needs no context. Code is compiled at its use, so errors in it are not reported
// here. If the code was rejected, by `load_error` or by the host's loader, every call except
// unload() returns that error.
abi::CUresult load(kernel::image_bytes bytes, abi::CUresult load_error, abi::CUlibrary* out,
                   std::string& diagnostic);

// cuLibraryUnload: waits for the work of the contexts into which it was loaded, then invalidates
// the handles of its kernels and functions.
abi::CUresult unload(abi::CUlibrary library);

abi::CUresult get_kernel(abi::CUlibrary library, const char* name, abi::CUkernel* out);
abi::CUresult count_kernels(abi::CUlibrary library, unsigned* out);
abi::CUresult list_kernels(abi::CUlibrary library, std::span<abi::CUkernel> out);

// Get an object of the library in a context. The first of these calls loads the library into the
// context.
abi::CUresult get_module(abi::CUlibrary library, context& target_context, abi::CUmodule* out);
abi::CUresult get_variable(abi::CUlibrary library, context& target_context, const char* name,
                           abi::CUdeviceptr* address, std::size_t* bytes);
abi::CUresult get_function(abi::CUkernel kernel, context& target_context, abi::CUfunction* out);

// cuLibraryGetManaged: the variable lies in the first context into which the library was loaded, or
// in `target_context` if there is none. Without any context the library is not loaded.
abi::CUresult get_managed(abi::CUlibrary library, context* target_context, const char* name,
                          abi::CUdeviceptr* address, std::size_t* bytes);

// A kernel and its data. Valid while the caller holds the image and the library is not unloaded.
struct kernel_view {
  std::shared_ptr<const module_image> image;
  library_kernel* kernel = nullptr;
  const weir_kernel* image_kernel = nullptr;
  abi::CUlibrary library = nullptr;
};
abi::CUresult get_kernel_view(abi::CUkernel kernel, kernel_view& out);

}  // namespace libraries

}  // namespace weir::embedded::model
