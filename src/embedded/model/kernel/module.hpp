// SPDX-License-Identifier: Apache-2.0
// embedded/model/kernel/module.hpp - modules. A module is an image that is loaded into a context,
// with its functions and variables.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "driver/abi.hpp"
#include "embedded/kernel/image/image_bytes.hpp"
#include "embedded/model/kernel/module_image.hpp"

namespace weir::embedded::model {

struct allocation;
class context;
class function;
struct library;

// A module. Objects are reused (handle_table.hpp). The members are guarded by
// process::modules_mutex, except owner, image and owner_library, which do not change during a
// lifetime.
struct loaded_module {
  context* owner = nullptr;
  std::shared_ptr<const module_image> image;
  // The library that loaded the module and unloads it; null for cuModuleLoad*.
  library* owner_library = nullptr;
  std::unordered_map<const weir_kernel*, function*> functions;  // the functions that were requested
  std::vector<allocation*> variables;  // the records of its variables in the address map

  [[nodiscard]] abi::CUmodule handle() const noexcept;
};

// Functions that return CUresult return the driver's codes. Functions that are not noexcept throw
// std::bad_alloc. Pointers to results must not be null, unless a function's comment says otherwise.
// Thread safety: all functions may be called from any thread.
namespace modules {

// Returns the loading mode in the environment variable CUDA_MODULE_LOADING, which is read once. On
// a GPU, functions are loaded when requested, unless the value is EAGER. Here the mode only affects
// what is reported about functions.
[[nodiscard]] abi::CUmoduleLoadingMode loading_mode() noexcept;

// Loads a copy of an image into a context. The variables of the image become device memory. If the
// image is rejected, `diagnostic` receives the reason.
abi::CUresult load(context& owner_context, const kernel::image_bytes& bytes, abi::CUmodule* out,
                   std::string& diagnostic);

// cuModuleUnload: waits for the work of its context, then invalidates the handles of its functions
// and the addresses of its variables. Graphs keep the code of their kernels loaded. Returns
// CUDA_ERROR_NOT_PERMITTED for a library's module.
abi::CUresult unload(abi::CUmodule module);

// cuModuleGetFunction: all calls with one name return one handle. Checks the module first. Returns
// CUDA_ERROR_INVALID_VALUE if `out` is null, or `name` is null or empty. Returns
// CUDA_ERROR_NOT_FOUND for an unknown name.
abi::CUresult get_function(abi::CUmodule module, const char* name, abi::CUfunction* out);

// cuModuleGetGlobal, for every kind of variable. One of `address` and `bytes` may be null. Checks
// the module first. Returns CUDA_ERROR_INVALID_VALUE if both are null, if `name` is null, or if it
// is the name of a function. Returns CUDA_ERROR_NOT_FOUND for an unknown name.
abi::CUresult get_variable(abi::CUmodule module, const char* name, abi::CUdeviceptr* address,
                           std::size_t* bytes);

// cuModuleGetFunctionCount.
abi::CUresult count_functions(abi::CUmodule module, unsigned* out);
// cuModuleEnumerateFunctions: stores at most out.size() functions.
abi::CUresult list_functions(abi::CUmodule module, std::span<abi::CUfunction> out);

// Makes a module of an image in a context. `owner_library`: the library that loads it, or null. The
// caller holds process::modules_mutex.
loaded_module* add(context& owner_context, const std::shared_ptr<const module_image>& image,
                   library* owner_library);
// Returns the handle of a module's function, which is made at the first call. The caller holds
// process::modules_mutex.
abi::CUfunction function_of(loaded_module& owner_module, const weir_kernel& kernel);
// Removes a module, its functions and its variables. Returns the module's image. The caller holds
// process::modules_mutex, and releases the image after the lock.
[[nodiscard]] std::shared_ptr<const module_image> remove(loaded_module& removed_module) noexcept;

// Unloads all modules of a context whose work is complete.
void release_context(context& closed) noexcept;

}  // namespace modules

}  // namespace weir::embedded::model
