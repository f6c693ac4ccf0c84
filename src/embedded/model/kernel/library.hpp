// model/library.hpp - libraries: code that comes into a context when it is used there, and its
// kernels.
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

// A kernel of a library, in no context. Objects are reused (handle_table.hpp), what is set of it on
// a device with them.
struct library_kernel {
  library* in = nullptr;
  std::size_t index = 0;                          // in the image's kernels
  std::unique_ptr<function_settings[]> settings;  // one a device
};

// A library. Objects are reused (handle_table.hpp). What is here is guarded by
// process::modules_mutex; the image, the kernels and the refusal do not change while it lives.
struct library {
  abi::CUresult load_error =
      abi::CUDA_SUCCESS;      // of code that was no image: told to whoever uses it
  kernel::image_bytes bytes;  // for the contexts after the first
  std::shared_ptr<const module_image>
      image;                  // says what there is; the first context's own. Null after a refusal
  bool image_in_use = false;  // by that
  std::vector<library_kernel*> kernels;  // in the image's order
  std::unordered_map<context*, loaded_module*> modules_by_context;

  // What was set of a kernel of one of its parts, on the device of that.
  [[nodiscard]] const function_settings* settings_of(const loaded_module& part,
                                                     const weir_kernel& kernel) const noexcept;
};

// What follows answers in the driver's codes and throws std::bad_alloc: CUDA_ERROR_INVALID_HANDLE
// for what is no library or no kernel, CUDA_ERROR_NOT_FOUND for a name that it does not have.
// Pointers to results are not null. Thread safety: all of it, from any thread.
namespace libraries {

// Loads an image; needs no context. Code is compiled when it is used, so what it is is not told
// here: a library of code that was refused, by `load_error` or by the host's loader, answers that
// to all but its unloading.
abi::CUresult load(kernel::image_bytes bytes, abi::CUresult load_error, abi::CUlibrary* out,
                   std::string& diagnostic);

// cuLibraryUnload: waits for the work of the contexts that it has come into, and ends its kernels
// and functions.
abi::CUresult unload(abi::CUlibrary library);

abi::CUresult get_kernel(abi::CUlibrary library, const char* name, abi::CUkernel* out);
abi::CUresult count_kernels(abi::CUlibrary library, unsigned* out);
abi::CUresult list_kernels(abi::CUlibrary library, std::span<abi::CUkernel> out);

// What of it is in a context, which it comes into at the first of these.
abi::CUresult get_module(abi::CUlibrary library, context& in, abi::CUmodule* out);
abi::CUresult get_variable(abi::CUlibrary library, context& in, const char* name,
                           abi::CUdeviceptr* address, std::size_t* bytes);
abi::CUresult get_function(abi::CUkernel kernel, context& in, abi::CUfunction* out);

// cuLibraryGetManaged: of the first context that it comes into, this one if there is none yet.
// Without any it stays outside.
abi::CUresult get_managed(abi::CUlibrary library, context* in, const char* name,
                          abi::CUdeviceptr* address, std::size_t* bytes);

// A kernel, looked at: what is here stays valid while one has the image and the library is not
// unloaded.
struct kernel_view {
  std::shared_ptr<const module_image> image;
  library_kernel* kernel = nullptr;
  const weir_kernel* image_kernel = nullptr;
  abi::CUlibrary in = nullptr;
};
abi::CUresult get_kernel_view(abi::CUkernel kernel, kernel_view& out);

}  // namespace libraries

}  // namespace weir::embedded::model
