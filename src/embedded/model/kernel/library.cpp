// SPDX-License-Identifier: Apache-2.0
// embedded/model/kernel/library.cpp - libraries and their kernels, and loading them into contexts.
#include "embedded/model/kernel/library.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

#include "embedded/model/core/context.hpp"
#include "embedded/model/core/device.hpp"
#include "embedded/model/core/process.hpp"
#include "embedded/model/kernel/module.hpp"

namespace weir::embedded::model {

using namespace abi;

const function_settings* library::settings_of(const loaded_module& context_module,
                                              const weir_kernel& kernel) const noexcept {
  const auto index = static_cast<std::size_t>(&kernel - context_module.image->kernels().data());
  return &kernels[index]
              ->settings[static_cast<std::size_t>(context_module.owner->owner().ordinal())];
}

namespace libraries {

namespace {

// Runs body(library) for the library of a handle, with process::modules_mutex held.
template <class Body>
CUresult with_library(CUlibrary handle, Body&& body) {
  process& p = this_process();
  const std::lock_guard lock{p.modules_mutex};
  library* const found = p.libraries.find(handle);
  return found != nullptr ? body(*found) : CUDA_ERROR_INVALID_HANDLE;
}

// Like with_library(), but returns load_error if the library has no code.
template <class Body>
CUresult with_code(CUlibrary handle, Body&& body) {
  return with_library(handle,
                      [&](library& found) { return found.image ? body(found) : found.load_error; });
}

CUkernel handle_of(const library_kernel& published) noexcept {
  return static_cast<CUkernel>(this_process().library_kernels.handle_of(&published));
}

// Removes all kernels of a library, including those without a handle. The caller holds
// process::modules_mutex.
void remove_kernels(library& owner) noexcept {
  auto& table = this_process().library_kernels;
  for (library_kernel* removed : std::exchange(owner.kernels, {})) {
    table.retire(removed, table.handle_of(removed));
    table.recycle(removed);
  }
}

// Makes an object with default settings for each kernel of the image. The caller holds
// process::modules_mutex.
void add_kernels(library& owner) {
  process& p = this_process();
  const std::size_t count = owner.image->kernels().size();
  const auto devices = static_cast<std::size_t>(p.device_count());
  owner.kernels.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    library_kernel* const created = p.library_kernels.acquire();
    owner.kernels.push_back(created);
    created->owner = &owner;
    created->index = i;
    if (!created->settings) created->settings = std::make_unique<function_settings[]>(devices);
    for (std::size_t device = 0; device < devices; ++device) created->settings[device].clear();
  }
  for (library_kernel* created : owner.kernels) p.library_kernels.publish(created);
}

// Loads a library into a context: with library::image if no context has used that, else with an
// image loaded for this context. Calls the host's loader without process::modules_mutex, because a
// thread inside the loader may wait for that lock.
class context_load {
 public:
  // Loads the library into the context if needed, then runs body(module) with
  // process::modules_mutex held.
  template <class Body>
  CUresult run(CUlibrary handle, context& target_context, Body&& body) {
    for (;;) {
      bool lacks_image = false;
      const CUresult status = with_code(handle, [&](library& found) -> CUresult {
        loaded_module* context_module = nullptr;
        if (const CUresult error = load_into(found, target_context, context_module, lacks_image))
          return error;
        return body(*context_module);
      });
      if (!lacks_image) return status;
      std::string diagnostic;
      const CUresult loaded = module_image::load(copy_, image_, diagnostic);
      if (loaded != CUDA_SUCCESS) return loaded;
    }
  }

 private:
  // Finds or makes the library's module in the context. If an image must be loaded first, sets
  // `lacks_image`, stores the code in `copy_` and returns an error. The caller then loads the image
  // and tries again.
  CUresult load_into(library& loaded, context& target_context, loaded_module*& context_module,
                     bool& lacks_image) {
    if (const CUresult error = target_context.status()) return error;
    if (const auto existing = loaded.modules_by_context.find(&target_context);
        existing != loaded.modules_by_context.end()) {
      context_module = existing->second;
      return CUDA_SUCCESS;
    }
    if (!loaded.image_in_use) {
      image_ = loaded.image;
    } else if (!image_) {
      copy_ = loaded.bytes.duplicate();
      lacks_image = static_cast<bool>(copy_);
      return CUDA_ERROR_OUT_OF_MEMORY;  // run() returns it only if there is no copy
    }
    const auto entry = loaded.modules_by_context.emplace(&target_context, nullptr).first;
    try {
      entry->second = modules::add(target_context, image_, &loaded);
    } catch (...) {
      loaded.modules_by_context.erase(entry);
      throw;
    }
    loaded.image_in_use = true;
    context_module = entry->second;
    return CUDA_SUCCESS;
  }

  kernel::image_bytes copy_;
  std::shared_ptr<const module_image> image_;
};

// Returns the contexts into which a library is loaded. The caller holds process::modules_mutex.
std::vector<context*> contexts_of(const library& loaded) {
  std::vector<context*> contexts;
  for (const auto& [owner_context, context_module] : loaded.modules_by_context)
    contexts.push_back(owner_context);
  return contexts;
}

// Stores the address and size of a variable; either result may be null.
CUresult copy_variable_address(const weir_variable* found, CUdeviceptr* address,
                               std::size_t* bytes) noexcept {
  if (found == nullptr) return CUDA_ERROR_NOT_FOUND;
  if (address != nullptr) *address = reinterpret_cast<CUdeviceptr>(found->address);
  if (bytes != nullptr) *bytes = found->bytes;
  return CUDA_SUCCESS;
}

}  // namespace

CUresult load(kernel::image_bytes bytes, CUresult load_error, CUlibrary* out,
              std::string& diagnostic) {
  std::shared_ptr<const module_image> image;
  if (load_error == CUDA_SUCCESS) {
    // `bytes` itself is kept for the second and further contexts.
    const kernel::image_bytes first_copy = bytes.duplicate();
    if (!first_copy) return CUDA_ERROR_OUT_OF_MEMORY;
    load_error = module_image::load(first_copy, image, diagnostic);
  }
  process& p = this_process();
  const std::lock_guard lock{p.modules_mutex};
  library* const created = p.libraries.acquire();
  created->load_error = load_error;
  created->bytes = std::move(bytes);
  created->image = std::move(image);
  created->image_in_use = false;
  try {
    if (created->image) add_kernels(*created);
  } catch (...) {
    remove_kernels(*created);
    image = std::move(created->image);  // released after the lock, see modules::remove()
    p.libraries.recycle(created);
    throw;
  }
  *out = static_cast<CUlibrary>(p.libraries.publish(created));
  return CUDA_SUCCESS;
}

CUresult unload(CUlibrary handle) {
  std::vector<context*> contexts;
  const CUresult status = with_library(handle, [&](const library& found) {
    contexts = contexts_of(found);
    return CUDA_SUCCESS;
  });
  if (status != CUDA_SUCCESS) return status;
  for (context* owner_context : contexts) owner_context->wait_for_work();
  process& p = this_process();
  std::vector<std::shared_ptr<const module_image>> removed_images;
  {
    const std::lock_guard lock{p.modules_mutex};
    library* const found = p.libraries.find(handle);
    if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    contexts = contexts_of(*found);
    removed_images.reserve(contexts.size() + 1);  // the last call that may throw
    p.libraries.retire(found, handle);
    for (const auto& [owner_context, context_module] : std::exchange(found->modules_by_context, {}))
      removed_images.push_back(modules::remove(*context_module));
    removed_images.push_back(std::move(found->image));
    remove_kernels(*found);
    found->bytes = {};
    p.libraries.recycle(found);
  }
  for (context* owner_context : contexts) owner_context->wait_for_work();  // see modules::unload()
  return CUDA_SUCCESS;
}

CUresult get_kernel(CUlibrary handle, const char* name, CUkernel* out) {
  return with_code(handle, [&](library& found) -> CUresult {
    const weir_kernel* const kernel = found.image->find_kernel(name);
    if (kernel == nullptr) return CUDA_ERROR_NOT_FOUND;
    *out =
        handle_of(*found.kernels[static_cast<std::size_t>(kernel - found.image->kernels().data())]);
    return CUDA_SUCCESS;
  });
}

// A library whose code was rejected has no kernels.
CUresult count_kernels(CUlibrary handle, unsigned* out) {
  return with_library(handle, [&](library& found) {
    *out = static_cast<unsigned>(found.kernels.size());
    return CUDA_SUCCESS;
  });
}

CUresult list_kernels(CUlibrary handle, std::span<CUkernel> out) {
  return with_library(handle, [&](library& found) {
    const std::size_t count = std::min(out.size(), found.kernels.size());
    for (std::size_t i = 0; i < count; ++i) out[i] = handle_of(*found.kernels[i]);
    return CUDA_SUCCESS;
  });
}

CUresult get_module(CUlibrary handle, context& target_context, CUmodule* out) {
  return context_load{}.run(handle, target_context, [&](loaded_module& context_module) {
    *out = context_module.handle();
    return CUDA_SUCCESS;
  });
}

CUresult get_variable(CUlibrary handle, context& target_context, const char* name,
                      CUdeviceptr* address, std::size_t* bytes) {
  return context_load{}.run(handle, target_context, [&](loaded_module& context_module) {
    return copy_variable_address(context_module.image->find_variable(name), address, bytes);
  });
}

CUresult get_function(CUkernel handle, context& target_context, CUfunction* out) {
  kernel_view view;
  if (const CUresult error = get_kernel_view(handle, view)) return error;
  return context_load{}.run(
      view.library, target_context, [&](loaded_module& context_module) -> CUresult {
        if (this_process().library_kernels.find(handle) != view.kernel)
          return CUDA_ERROR_INVALID_HANDLE;  // another thread has unloaded the library
        const weir_kernel& kernel = context_module.image->kernels()[view.kernel->index];
        *out = modules::function_of(context_module, kernel);
        context_module.functions.find(&kernel)->second->load();
        return CUDA_SUCCESS;
      });
}

CUresult get_managed(CUlibrary handle, context* target_context, const char* name,
                     CUdeviceptr* address, std::size_t* bytes) {
  bool is_loaded = false;
  const CUresult status = with_code(handle, [&](library& found) {
    is_loaded = found.image_in_use;
    const weir_variable* const variable = found.image->find_variable(name);
    return copy_variable_address(
        variable != nullptr && variable->memory == weir_memory_managed ? variable : nullptr,
        address, bytes);
  });
  if (status != CUDA_SUCCESS || is_loaded || target_context == nullptr) return status;
  return context_load{}.run(handle, *target_context, [](loaded_module&) { return CUDA_SUCCESS; });
}

CUresult get_kernel_view(CUkernel handle, kernel_view& out) {
  process& p = this_process();
  const std::lock_guard lock{p.modules_mutex};
  library_kernel* const found = p.library_kernels.find(handle);
  if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  out.image = found->owner->image;
  out.kernel = found;
  out.image_kernel = &out.image->kernels()[found->index];
  out.library = static_cast<CUlibrary>(p.libraries.handle_of(found->owner));
  return CUDA_SUCCESS;
}

}  // namespace libraries

}  // namespace weir::embedded::model
