// SPDX-License-Identifier: Apache-2.0
// embedded/model/kernel/module_image.cpp - loads an image with the host's loader.
#include "embedded/model/kernel/module_image.hpp"

#include <dlfcn.h>

#include <atomic>
#include <utility>

#include "embedded/kernel/image/writable_variables.hpp"
#include "embedded/kernel/services.hpp"

#if defined(__SANITIZE_THREAD__)
#define WEIR_TELL_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define WEIR_TELL_TSAN 1
#endif
#endif

#if defined(WEIR_TELL_TSAN)
#include <sanitizer/tsan_interface.h>
#endif

namespace weir::embedded::model {

using namespace abi;

namespace {

// Returns a path of a file descriptor that no earlier load has used. The loader returns the object
// that it has loaded from a path before, even if the path now refers to another file. Each load
// therefore gets another path: the binary digits of a counter are encoded as "/." or "/"
// components, which do not change the path's meaning.
std::string path_of(int fd) {
  static constinit std::atomic<unsigned long long> loads{0};
  std::string path = "/proc/self/fd";
  for (unsigned long long remaining_bits = loads.fetch_add(1, std::memory_order_relaxed);
       remaining_bits != 0; remaining_bits >>= 1) {
    path += (remaining_bits & 1) != 0 ? "/." : "/";
  }
  return path + "/" + std::to_string(fd);
}

CUresult load_error(std::string& diagnostic) {
  const char* const loader_message = dlerror();
  diagnostic = loader_message != nullptr ? loader_message : "the host's loader refuses it";
  return diagnostic.find("undefined symbol") != std::string::npos
             ? CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND
             : CUDA_ERROR_SHARED_OBJECT_INIT_FAILED;
}

template <class Entry>
const Entry* find_in(const std::unordered_map<std::string_view, const Entry*>& entries,
                     std::string_view name) noexcept {
  const auto found = entries.find(name);
  return found != entries.end() ? found->second : nullptr;
}

// Annotations for the thread sanitizer, which cannot see the host loader's own lock. An image may
// be loaded at the address where another thread has unloaded one. A real lock here could deadlock,
// because the caller may hold the loader's lock in a library's constructor.
#if defined(WEIR_TELL_TSAN)
char loader;
void note_unload() noexcept { __tsan_release(&loader); }
void note_load() noexcept { __tsan_acquire(&loader); }
#else
void note_unload() noexcept {}
void note_load() noexcept {}
#endif

}  // namespace

CUresult module_image::load(const kernel::image_bytes& bytes,
                            std::shared_ptr<const module_image>& out, std::string& diagnostic) {
  const loaded_object::pointer opened = dlopen(path_of(bytes.fd()).c_str(), RTLD_NOW | RTLD_LOCAL);
  note_load();
  loaded_object object{opened};
  if (!object) return load_error(diagnostic);
  const auto* const table =
      static_cast<const weir_module_table*>(dlsym(object.get(), "weir_module"));
  if (table == nullptr) return load_error(diagnostic);
  if (table->services != nullptr) *table->services = &kernel::services();
  kernel::make_variables_writable(*table);
  out = std::make_shared<const module_image>(std::move(object), *table);
  return CUDA_SUCCESS;
}

void module_image::unloader::operator()(void* object) const noexcept {
  note_unload();
  dlclose(object);
}

module_image::module_image(loaded_object object, const weir_module_table& table)
    : object_{std::move(object)}, table_{table} {
  for (const weir_kernel& entry : kernels()) kernels_by_name_.emplace(entry.name, &entry);
  for (const weir_variable& variable : variables()) {
    variables_by_name_.emplace(variable.name, &variable);
    if (variable.memory == weir_memory_constant) constant_bytes_ += variable.bytes;
  }
}

const weir_kernel* module_image::find_kernel(std::string_view name) const noexcept {
  return find_in(kernels_by_name_, name);
}

const weir_variable* module_image::find_variable(std::string_view name) const noexcept {
  return find_in(variables_by_name_, name);
}

}  // namespace weir::embedded::model
