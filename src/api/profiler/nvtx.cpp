// api/profiler/nvtx.cpp - a client of NVTX 3: finds the tool, lets it put its functions in place, and calls them.
#include "api/profiler/nvtx.hpp"

#include "api/profiler/nvtx_protocol.hpp"

#include <weir/profiler/name.hpp>

#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <mutex>

namespace weir::detail {
namespace {

// Tools expect all modules, and all places in them.
template <unsigned Size>
struct module_places {
  nvtx::function filled[Size] = {};
  nvtx::function* table[Size + 1] = {};

  module_places() noexcept {
    for (unsigned i = 1; i < Size; ++i) table[i] = &filled[i];
  }
  int give(nvtx::places* to, unsigned* size) noexcept {
    if (to != nullptr) *to = table;
    if (size != nullptr) *size = Size;
    return 1;
  }
};

struct all_places {
  module_places<nvtx::core_size> core;
  module_places<nvtx::cuda_size> cuda;
  module_places<nvtx::opencl_size> opencl;
  module_places<nvtx::cuda_runtime_size> cuda_runtime;
  module_places<nvtx::core2_size> core2;
  module_places<nvtx::sync_size> sync;
};

all_places& places() {
  static all_places* const all = new all_places;  // a tool keeps pointers into it for as long as the process lives
  return *all;
}

int give_module(unsigned which, nvtx::places* to, unsigned* size) {
  switch (static_cast<nvtx::module>(which)) {
    case nvtx::module::core: return places().core.give(to, size);
    case nvtx::module::cuda: return places().cuda.give(to, size);
    case nvtx::module::opencl: return places().opencl.give(to, size);
    case nvtx::module::cuda_runtime: return places().cuda_runtime.give(to, size);
    case nvtx::module::core2: return places().core2.give(to, size);
    case nvtx::module::sync: return places().sync.give(to, size);
  }
  return 0;
}

const void* give_table(std::uint32_t which) {
  static constexpr nvtx::callbacks_table callbacks{sizeof(nvtx::callbacks_table), &give_module};
  static constexpr nvtx::version_table version{sizeof(nvtx::version_table), nvtx::version, 0, [](std::uint32_t) {}};
  switch (which) {
    case nvtx::callbacks_table_number: return &callbacks;
    case nvtx::version_table_number: return &version;
    default: return nullptr;
  }
}

template <class Function>
void take(Function& to, nvtx::function from) noexcept {
  to = reinterpret_cast<Function>(from);
}

// Loads the tool. What it does not fill stays null.
const profiler* load() noexcept {
  const char* const file = std::getenv(nvtx::library_variable);
  if (file == nullptr || *file == '\0') return nullptr;
  void* const library = ::dlopen(file, RTLD_LAZY);
  if (library == nullptr) return nullptr;
  const auto start = reinterpret_cast<nvtx::start_tool>(::dlsym(library, nvtx::start_symbol));
  if (start == nullptr || start(&give_table) == 0) {
    ::dlclose(library);
    return nullptr;
  }
  static profiler tool;
  const all_places& of = places();
  take(tool.mark, of.core.filled[nvtx::mark]);
  take(tool.push_range, of.core.filled[nvtx::push_range]);
  take(tool.pop_range, of.core.filled[nvtx::pop_range]);
  take(tool.name_thread, of.core.filled[nvtx::name_thread]);
  take(tool.name_device, of.cuda.filled[nvtx::name_device]);
  take(tool.name_context, of.cuda.filled[nvtx::name_context]);
  take(tool.name_stream, of.cuda.filled[nvtx::name_stream]);
  take(tool.name_event, of.cuda.filled[nvtx::name_event]);
  return &tool;
}

// Stands for "nobody has asked yet".
constinit profiler unknown;

}  // namespace

constinit const profiler* profiler_in_use = &unknown;

const profiler* listening_profiler() noexcept {
  const std::atomic_ref in_use{profiler_in_use};
  const profiler* const known = in_use.load(std::memory_order_acquire);
  if (known != &unknown) return known;
  static std::once_flag once;
  std::call_once(once, [&] { in_use.store(load(), std::memory_order_release); });
  return in_use.load(std::memory_order_acquire);
}

void push_range(const profiler* to, const char* name) noexcept {
  if (to == &unknown) to = listening_profiler();
  if (to != nullptr && to->push_range != nullptr) to->push_range(name);
}

void pop_range(const profiler* from) noexcept {
  if (from == &unknown) from = listening_profiler();
  if (from != nullptr && from->pop_range != nullptr) from->pop_range();
}

void mark(const profiler* at, const char* name) noexcept {
  if (at == &unknown) at = listening_profiler();
  if (at != nullptr && at->mark != nullptr) at->mark(name);
}

}  // namespace weir::detail
