// SPDX-License-Identifier: Apache-2.0
// model/kernel/module.hpp - modules: an image in a context, its functions and its variables.
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
  library* owner_library = nullptr;  // its library, which unloads it; null for cuModuleLoad*
  std::unordered_map<const weir_kernel*, function*> functions;  // the functions that were requested
  std::vector<allocation*> variables;                           // its records in the address map

  [[nodiscard]] abi::CUmodule handle() const noexcept;
};

// The functions below return the driver's codes and throw std::bad_alloc. Pointers to results must
// not be null. Thread safety: all functions may be called from any thread.
namespace modules {

// Returns the value of CUDA_MODULE_LOADING, read once. On a GPU functions are loaded when
// requested, unless the value is EAGER. Here it only affects what is reported about functions.
[[nodiscard]] abi::CUmoduleLoadingMode loading_mode() noexcept;

// Loads a copy of an image into a context. Its variables become device memory. `diagnostic`
// receives the reason if the image is rejected.
abi::CUresult load(context& owner_context, const kernel::image_bytes& bytes, abi::CUmodule* out,
                   std::string& diagnostic);

// cuModuleUnload: waits for the work of its context, then invalidates the handles of its functions
// and the addresses of its variables. Graphs keep the code of their kernels loaded. Returns
// CUDA_ERROR_NOT_PERMITTED for a library's module.
abi::CUresult unload(abi::CUmodule module);

// cuModuleGetFunction: returns one handle for all calls with a name. Returns CUDA_ERROR_NOT_FOUND
// for an unknown name. After checking the module, this function and those below return
// CUDA_ERROR_INVALID_VALUE for a null argument or an empty name.
abi::CUresult get_function(abi::CUmodule module, const char* name, abi::CUfunction* out);

// cuModuleGetGlobal, for every kind of variable. One of the results may be null. Returns
// CUDA_ERROR_INVALID_VALUE also for the name of a function.
abi::CUresult get_variable(abi::CUmodule module, const char* name, abi::CUdeviceptr* address,
                           std::size_t* bytes);

// cuModuleGetFunctionCount and cuModuleEnumerateFunctions.
abi::CUresult count_functions(abi::CUmodule module, unsigned* out);
abi::CUresult list_functions(abi::CUmodule module, std::span<abi::CUfunction> out);

// For libraries. These functions require process::modules_mutex. add_library_module() makes a
// module from an image; its handle is not returned to the program. function_of() returns the handle
// of one of its functions. remove() removes an unloaded module, and returns its image, which the
// caller must release without the lock.
loaded_module* add_library_module(context& owner_context,
                                  const std::shared_ptr<const module_image>& image,
                                  library& owner_library);
abi::CUfunction function_of(loaded_module& owner_module, const weir_kernel& kernel);
[[nodiscard]] std::shared_ptr<const module_image> remove(loaded_module& removed_module) noexcept;

// Unloads all modules of a context whose work is complete.
void release_context(context& closed) noexcept;

}  // namespace modules

}  // namespace weir::embedded::model
