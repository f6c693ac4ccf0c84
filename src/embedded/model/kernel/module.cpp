// SPDX-License-Identifier: Apache-2.0
// embedded/model/kernel/module.cpp - modules, from their loading to the destruction of their
// context.
#include "embedded/model/kernel/module.hpp"

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <string_view>
#include <utility>

#include "embedded/model/core/process.hpp"
#include "embedded/model/kernel/library.hpp"
#include "embedded/model/memory/address_map.hpp"
#include "embedded/model/memory/managed_advice.hpp"

namespace weir::embedded::model {

using namespace abi;

CUmodule loaded_module::handle() const noexcept {
  return static_cast<CUmodule>(this_process().modules.handle_of(this));
}

namespace modules {

namespace {

// Adds a variable to the address map, so that copies, sets and queries find its address.
void add_variable(loaded_module& owner_module, const weir_variable& variable) {
  if (variable.bytes == 0) return;
  owner_module.variables.reserve(owner_module.variables.size() + 1);
  const bool managed = variable.memory == weir_memory_managed;
  allocation& record = address_map::instance().add(
      reinterpret_cast<std::uintptr_t>(variable.address), variable.bytes,
      {.kind = managed ? memory_kind::managed_variable : memory_kind::variable,
       .flags = managed ? CU_MEMHOSTALLOC_DEVICEMAP : 0u,
       .owner_context = owner_module.owner,
       .memory_device = &owner_module.owner->owner()});
  record.sync_memops.store(managed, std::memory_order_relaxed);
  record.open(variable.bytes);
  // add() may have reused the record of a variable of this module that overlaps this one.
  std::erase(owner_module.variables, &record);
  owner_module.variables.push_back(&record);
}

void remove_variables(loaded_module& removed_module) noexcept {
  for (allocation* variable : std::exchange(removed_module.variables, {})) {
    if (variable->close() == 0) continue;
    if (variable->kind == memory_kind::managed_variable) managed_advice::forget(*variable);
    address_map::instance().remove(*variable);
  }
}

// Ends the functions and variables of a module whose handle is no longer valid. Returns the
// module's image. The caller releases the image without locks, because that calls the host's
// loader. The caller holds process::modules_mutex.
std::shared_ptr<const module_image> clear(loaded_module& removed_module) noexcept {
  process& p = this_process();
  for (const auto& [kernel, created] : std::exchange(removed_module.functions, {})) {
    p.functions.retire(created, p.functions.handle_of(created));
    created->close();
    p.functions.recycle(created);
  }
  remove_variables(removed_module);
  removed_module.owner_library = nullptr;
  return std::move(removed_module.image);
}

// Runs body(module) for the module of a handle, with process::modules_mutex held. Returns an error
// for an invalid handle, or if the context cannot be used.
template <class Body>
CUresult with_module(CUmodule handle, Body&& body) {
  process& p = this_process();
  const std::lock_guard lock{p.modules_mutex};
  loaded_module* const found = p.modules.find(handle);
  if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (const CUresult error = found->owner->status()) return error;
  return body(*found);
}

}  // namespace

CUmoduleLoadingMode loading_mode() noexcept {
  static const CUmoduleLoadingMode mode = [] {
    const char* const requested = std::getenv("CUDA_MODULE_LOADING");
    return requested != nullptr && std::string_view{requested} == "EAGER" ? CU_MODULE_EAGER_LOADING
                                                                          : CU_MODULE_LAZY_LOADING;
  }();
  return mode;
}

CUresult load(context& owner_context, const kernel::image_bytes& bytes, CUmodule* out,
              std::string& diagnostic) {
  std::shared_ptr<const module_image> image;
  if (const CUresult error = module_image::load(bytes, image, diagnostic)) return error;
  const std::lock_guard lock{this_process().modules_mutex};
  if (const CUresult error = owner_context.status()) return error;
  *out = add(owner_context, image, nullptr)->handle();
  return CUDA_SUCCESS;
}

loaded_module* add(context& owner_context, const std::shared_ptr<const module_image>& image,
                   library* owner_library) {
  process& p = this_process();
  loaded_module* const created = p.modules.acquire();
  created->owner = &owner_context;
  created->owner_library = owner_library;
  created->image = image;
  try {
    for (const weir_variable& variable : image->variables()) add_variable(*created, variable);
  } catch (...) {
    (void)clear(*created);  // not the last reference to the image: the caller holds one
    p.modules.recycle(created);
    throw;
  }
  p.modules.publish(created);
  return created;
}

CUfunction function_of(loaded_module& owner_module, const weir_kernel& kernel) {
  process& p = this_process();
  const auto [entry, is_new] = owner_module.functions.try_emplace(&kernel, nullptr);
  if (is_new) {
    try {
      function* const created = p.functions.acquire();
      const function_settings* const kernel_settings =
          owner_module.owner_library != nullptr
              ? owner_module.owner_library->settings_of(owner_module, kernel)
              : nullptr;
      created->open(owner_module, kernel, kernel_settings);
      if (loading_mode() == CU_MODULE_EAGER_LOADING) created->load();
      p.functions.publish(created);
      entry->second = created;
    } catch (...) {
      owner_module.functions.erase(entry);
      throw;
    }
  }
  return static_cast<CUfunction>(p.functions.handle_of(entry->second));
}

std::shared_ptr<const module_image> remove(loaded_module& removed_module) noexcept {
  process& p = this_process();
  p.modules.retire(&removed_module, p.modules.handle_of(&removed_module));
  std::shared_ptr<const module_image> image = clear(removed_module);
  p.modules.recycle(&removed_module);
  return image;
}

CUresult unload(CUmodule module) {
  process& p = this_process();
  context* owner = nullptr;
  const CUresult status = with_module(module, [&](loaded_module& found) {
    owner = found.owner;
    return found.owner_library != nullptr ? CUDA_ERROR_NOT_PERMITTED : CUDA_SUCCESS;
  });
  if (status != CUDA_SUCCESS) return status;
  owner->wait_for_work();
  std::shared_ptr<const module_image> image;
  {
    const std::lock_guard lock{p.modules_mutex};
    loaded_module* const found = p.modules.find(module);
    if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    image = remove(*found);
  }
  // Waits again, for launches that other threads submitted meanwhile. The handles are invalid now,
  // so no further launch is possible.
  owner->wait_for_work();
  return CUDA_SUCCESS;
}

CUresult get_function(CUmodule module, const char* name, CUfunction* out) {
  return with_module(module, [&](loaded_module& found) -> CUresult {
    if (out == nullptr || name == nullptr || *name == '\0') return CUDA_ERROR_INVALID_VALUE;
    const weir_kernel* const kernel = found.image->find_kernel(name);
    if (kernel == nullptr) return CUDA_ERROR_NOT_FOUND;
    *out = function_of(found, *kernel);
    found.functions.find(kernel)->second->load();
    return CUDA_SUCCESS;
  });
}

CUresult get_variable(CUmodule module, const char* name, CUdeviceptr* address, std::size_t* bytes) {
  return with_module(module, [&](loaded_module& found) -> CUresult {
    if ((address == nullptr && bytes == nullptr) || name == nullptr)
      return CUDA_ERROR_INVALID_VALUE;
    const weir_variable* const variable = found.image->find_variable(name);
    if (variable == nullptr)
      return found.image->find_kernel(name) != nullptr ? CUDA_ERROR_INVALID_VALUE
                                                       : CUDA_ERROR_NOT_FOUND;
    if (address != nullptr) *address = reinterpret_cast<CUdeviceptr>(variable->address);
    if (bytes != nullptr) *bytes = variable->bytes;
    return CUDA_SUCCESS;
  });
}

CUresult count_functions(CUmodule module, unsigned* out) {
  return with_module(module, [&](loaded_module& found) {
    *out = static_cast<unsigned>(found.image->kernels().size());
    return CUDA_SUCCESS;
  });
}

CUresult list_functions(CUmodule module, std::span<CUfunction> out) {
  return with_module(module, [&](loaded_module& found) {
    const std::span<const weir_kernel> kernels = found.image->kernels();
    const std::size_t count = std::min(kernels.size(), out.size());
    for (std::size_t i = 0; i < count; ++i) out[i] = function_of(found, kernels[i]);
    return CUDA_SUCCESS;
  });
}

void release_context(context& closed) noexcept {
  process& p = this_process();
  // Waits for calls that found the context usable, so that none of them adds a module later.
  { const std::lock_guard calls_in_flight{p.modules_mutex}; }
  p.modules.for_each([&](loaded_module& candidate) {
    std::shared_ptr<const module_image> image;  // released after the lock
    const std::lock_guard lock{p.modules_mutex};
    if (p.modules.handle_of(&candidate) == nullptr || candidate.owner != &closed) return;
    if (candidate.owner_library != nullptr)
      candidate.owner_library->modules_by_context.erase(&closed);
    image = remove(candidate);
  });
}

}  // namespace modules

}  // namespace weir::embedded::model
