// SPDX-License-Identifier: Apache-2.0
// model/kernel/library.cpp - libraries and their kernels, and loading them into contexts.
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

const function_settings* library::settings_of(const loaded_module& part,
                                              const weir_kernel& kernel) const noexcept {
  const auto index = static_cast<std::size_t>(&kernel - part.image->kernels().data());
  return &kernels[index]->settings[static_cast<std::size_t>(part.owner->owner().ordinal())];
}

namespace libraries {

namespace {

// Runs body(library) for a handle, with the lock held.
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

CUkernel handle_of(const library_kernel& of) noexcept {
  return static_cast<CUkernel>(this_process().library_kernels.handle_of(&of));
}

// Requires the lock. Also removes kernels without a handle.
void remove_kernels(library& of) noexcept {
  auto& table = this_process().library_kernels;
  for (library_kernel* each : std::exchange(of.kernels, {})) {
    if (void* const handle = table.handle_of(each); handle != nullptr) table.retire(each, handle);
    table.recycle(each);
  }
}

void add_kernels(library& to) {
  process& p = this_process();
  const std::size_t count = to.image->kernels().size();
  const auto devices = static_cast<std::size_t>(p.device_count());
  to.kernels.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    library_kernel* const created = p.library_kernels.acquire();
    to.kernels.push_back(created);
    created->in = &to;
    created->index = i;
    if (!created->settings) created->settings = std::make_unique<function_settings[]>(devices);
    for (std::size_t d = 0; d < devices; ++d) created->settings[d].clear();
  }
  for (library_kernel* each : to.kernels) p.library_kernels.publish(each);
}

// Loads a library into a context: with its own image if that is unused, else with an image loaded
// for the context. The host's loader is called without the lock, because a thread inside the loader
// may wait for the lock.
class context_load {
 public:
  // Runs body(library, module) with the lock held, after loading the library into the context.
  template <class Body>
  CUresult run(CUlibrary handle, context& in, Body&& body) {
    for (;;) {
      bool lacks_image = false;
      const CUresult status = with_code(handle, [&](library& found) -> CUresult {
        loaded_module* part = nullptr;
        if (const CUresult load_status = load_into(found, in, part, lacks_image);
            load_status != CUDA_SUCCESS)
          return load_status;
        return body(found, *part);
      });
      if (!lacks_image) return status;
      std::string diagnostic;
      const CUresult loaded = module_image::load(copy_, image_, diagnostic);
      if (loaded != CUDA_SUCCESS) return loaded;
    }
  }

 private:
  CUresult load_into(library& of, context& in, loaded_module*& part, bool& lacks_image) {
    if (const CUresult status = in.status(); status != CUDA_SUCCESS) return status;
    if (const auto existing = of.modules_by_context.find(&in);
        existing != of.modules_by_context.end()) {
      part = existing->second;
      return CUDA_SUCCESS;
    }
    if (!of.image_in_use) {
      image_ = of.image;
    } else if (!image_) {
      copy_ = of.bytes.duplicate();
      lacks_image = static_cast<bool>(copy_);
      return CUDA_ERROR_OUT_OF_MEMORY;
    }
    const auto at = of.modules_by_context.emplace(&in, nullptr).first;
    try {
      at->second = modules::add_library_module(in, image_, of);
    } catch (...) {
      of.modules_by_context.erase(at);
      throw;
    }
    of.image_in_use = true;
    part = at->second;
    return CUDA_SUCCESS;
  }

  kernel::image_bytes copy_;
  std::shared_ptr<const module_image> image_;
};

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
    const kernel::image_bytes owned_bytes = bytes.duplicate();
    if (!owned_bytes) return CUDA_ERROR_OUT_OF_MEMORY;
    load_error = module_image::load(owned_bytes, image, diagnostic);
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
    image = std::move(created->image);
    p.libraries.recycle(created);
    throw;
  }
  *out = static_cast<CUlibrary>(p.libraries.publish(created));
  return CUDA_SUCCESS;
}

CUresult unload(CUlibrary handle) {
  std::vector<context*> in_use;
  const CUresult status = with_library(handle, [&](library& found) {
    for (const auto& [in, part] : found.modules_by_context) in_use.push_back(in);
    return CUDA_SUCCESS;
  });
  if (status != CUDA_SUCCESS) return status;
  for (context* each : in_use) each->wait_for_work();
  process& p = this_process();
  std::vector<std::shared_ptr<const module_image>> removed_images;
  {
    const std::lock_guard lock{p.modules_mutex};
    library* const found = p.libraries.find(handle);
    if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    in_use.clear();
    for (const auto& [in, part] : found->modules_by_context) in_use.push_back(in);
    removed_images.reserve(found->modules_by_context.size() + 1);  // the last call that may throw
    p.libraries.retire(found, handle);
    for (const auto& [in, part] : std::exchange(found->modules_by_context, {}))
      removed_images.push_back(modules::remove(*part));
    removed_images.push_back(std::move(found->image));
    remove_kernels(*found);
    found->bytes = {};
    p.libraries.recycle(found);
  }
  for (context* each : in_use) each->wait_for_work();  // see modules::unload()
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

CUresult get_module(CUlibrary handle, context& in, CUmodule* out) {
  return context_load{}.run(handle, in, [&](library&, loaded_module& part) {
    *out = part.handle();
    return CUDA_SUCCESS;
  });
}

CUresult get_variable(CUlibrary handle, context& in, const char* name, CUdeviceptr* address,
                      std::size_t* bytes) {
  return context_load{}.run(handle, in, [&](library&, loaded_module& part) {
    return copy_variable_address(part.image->find_variable(name), address, bytes);
  });
}

CUresult get_function(CUkernel handle, context& in, CUfunction* out) {
  kernel_view view;
  if (const CUresult status = get_kernel_view(handle, view); status != CUDA_SUCCESS) return status;
  return context_load{}.run(view.in, in, [&](library&, loaded_module& part) -> CUresult {
    if (this_process().library_kernels.find(handle) != view.kernel)
      return CUDA_ERROR_INVALID_HANDLE;
    const weir_kernel& kernel = part.image->kernels()[view.kernel->index];
    *out = modules::function_of(part, kernel);
    part.functions.find(&kernel)->second->load();
    return CUDA_SUCCESS;
  });
}

CUresult get_managed(CUlibrary handle, context* in, const char* name, CUdeviceptr* address,
                     std::size_t* bytes) {
  bool is_anywhere = false;
  const CUresult status = with_code(handle, [&](library& found) {
    is_anywhere = found.image_in_use;
    const weir_variable* const variable = found.image->find_variable(name);
    return copy_variable_address(
        variable != nullptr && variable->memory == weir_memory_managed ? variable : nullptr,
        address, bytes);
  });
  if (status != CUDA_SUCCESS || is_anywhere || in == nullptr) return status;
  return context_load{}.run(handle, *in, [](library&, loaded_module&) { return CUDA_SUCCESS; });
}

CUresult get_kernel_view(CUkernel handle, kernel_view& out) {
  process& p = this_process();
  const std::lock_guard lock{p.modules_mutex};
  library_kernel* const found = p.library_kernels.find(handle);
  if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  out.image = found->in->image;
  out.kernel = found;
  out.image_kernel = &out.image->kernels()[found->index];
  out.in = static_cast<CUlibrary>(p.libraries.handle_of(found->in));
  return CUDA_SUCCESS;
}

}  // namespace libraries

}  // namespace weir::embedded::model
