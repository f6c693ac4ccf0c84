// model/module_image.cpp - giving an image to the host's loader.
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

// A path of the descriptor that no other load has had: the loader takes a path that it knows for
// the object that it knows, whatever lies there now. Numbers are written in dots, because they
// change nothing in a path.
std::string path_of(int fd) {
  static constinit std::atomic<unsigned long long> loads{0};
  std::string path = "/proc/self/fd";
  for (unsigned long long left = loads.fetch_add(1, std::memory_order_relaxed); left != 0;
       left >>= 1) {
    path += (left & 1) != 0 ? "/." : "/";
  }
  return path + "/" + std::to_string(fd);
}

CUresult load_error(std::string& diagnostic) {
  const char* const said = dlerror();
  diagnostic = said != nullptr ? said : "the host's loader refuses it";
  return diagnostic.find("undefined symbol") != std::string::npos
             ? CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND
             : CUDA_ERROR_SHARED_OBJECT_INIT_FAILED;
}

template <class Entry>
const Entry* find_in(const std::unordered_map<std::string_view, const Entry*>& all,
                     std::string_view name) noexcept {
  const auto found = all.find(name);
  return found != all.end() ? found->second : nullptr;
}

// The loader of the host has a lock of its own, which the thread sanitizer cannot see: an image may
// lie where one lay that another thread has let go of. There is no lock here: who calls may have
// the loader's already, in a constructor of a library that is being loaded.
#if defined(WEIR_TELL_TSAN)
char loader;
void unloads() noexcept { __tsan_release(&loader); }
void has_loaded() noexcept { __tsan_acquire(&loader); }
#else
void unloads() noexcept {}
void has_loaded() noexcept {}
#endif

}  // namespace

CUresult module_image::load(const kernel::image_bytes& bytes,
                            std::shared_ptr<const module_image>& out, std::string& diagnostic) {
  const loaded_object::pointer opened = dlopen(path_of(bytes.fd()).c_str(), RTLD_NOW | RTLD_LOCAL);
  has_loaded();
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
  unloads();
  dlclose(object);
}

module_image::module_image(loaded_object object, const weir_module_table& table)
    : object_{std::move(object)}, table_{table} {
  for (const weir_kernel& each : kernels()) kernels_by_name_.emplace(each.name, &each);
  for (const weir_variable& each : variables()) {
    variables_by_name_.emplace(each.name, &each);
    if (each.memory == weir_memory_constant) constant_bytes_ += each.bytes;
  }
}

const weir_kernel* module_image::find_kernel(std::string_view name) const noexcept {
  return find_in(kernels_by_name_, name);
}

const weir_variable* module_image::find_variable(std::string_view name) const noexcept {
  return find_in(variables_by_name_, name);
}

}  // namespace weir::embedded::model
