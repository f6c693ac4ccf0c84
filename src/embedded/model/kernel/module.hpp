// model/module.hpp - modules: an image in a context, its functions and its variables.
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

// A module. Objects are reused (handle_table.hpp). What is here is guarded by
// process::modules_mutex, but for what does not change while it lives: owner, image, from.
struct loaded_module {
  context* owner = nullptr;
  std::shared_ptr<const module_image> image;
  library* from = nullptr;  // the library that it is a context's part of, which it ends with
  std::unordered_map<const weir_kernel*, function*> functions;  // those that somebody has asked for
  std::vector<allocation*> variables;                           // what the address map knows of

  [[nodiscard]] abi::CUmodule handle() const noexcept;
};

// What follows answers in the driver's codes and throws std::bad_alloc. Pointers to results are not
// null. Thread safety: all of it, from any thread.
namespace modules {

// On a GPU functions come into a context when they are asked for, unless the environment
// (CUDA_MODULE_LOADING, read once) wants all of them at once. Here that is a matter of what is told
// of them.
[[nodiscard]] abi::CUmoduleLoadingMode loading_mode() noexcept;

// Loads a copy of an image into a context. Its variables are memory of the device from here on.
// `diagnostic` says why the image was refused.
abi::CUresult load(context& in, const kernel::image_bytes& bytes, abi::CUmodule* out,
                   std::string& diagnostic);

// cuModuleUnload: waits for the work of its context, then ends functions and variables. Work that
// is still to come, in graphs, keeps the code. CUDA_ERROR_NOT_PERMITTED for a library's.
abi::CUresult unload(abi::CUmodule module);

// cuModuleGetFunction: the same handle every time. CUDA_ERROR_NOT_FOUND. Name and result are looked
// at once there is a module, here and below: CUDA_ERROR_INVALID_VALUE where one is null, or the
// name empty.
abi::CUresult get_function(abi::CUmodule module, const char* name, abi::CUfunction* out);

// cuModuleGetGlobal, of every kind of variable. One of the results may be null.
// CUDA_ERROR_INVALID_VALUE also for the name of a function.
abi::CUresult get_variable(abi::CUmodule module, const char* name, abi::CUdeviceptr* address,
                           std::size_t* bytes);

// cuModuleGetFunctionCount and cuModuleEnumerateFunctions.
abi::CUresult count_functions(abi::CUmodule module, unsigned* out);
abi::CUresult list_functions(abi::CUmodule module, std::span<abi::CUfunction> out);

// What follows is for libraries. With process::modules_mutex held: makes a module of a library of
// an image, without a handle that a program could have come by; gives the handle of a function of
// it; and takes one out again that nobody finds any more, and gives what has to be let go of
// without the lock.
loaded_module* add_library_module(context& in, const std::shared_ptr<const module_image>& image,
                                  library& of);
abi::CUfunction function_of(loaded_module& in, const weir_kernel& kernel);
[[nodiscard]] std::shared_ptr<const module_image> remove(loaded_module& ended) noexcept;

// Ends all modules of a context, whose work is complete.
void release_context(context& closed) noexcept;

}  // namespace modules

}  // namespace weir::embedded::model
