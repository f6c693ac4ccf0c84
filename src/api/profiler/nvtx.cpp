// SPDX-License-Identifier: Apache-2.0
// api/profiler/nvtx.cpp - an NVTX 3 client: loads the profiler, lets it register its functions, and
// calls them.
#include "api/profiler/nvtx.hpp"

#include "api/profiler/nvtx_protocol.hpp"

#include <weir/profiler/name.hpp>

#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <mutex>

namespace weir::detail {
namespace {

// Profilers expect the tables of all modules, with all entries.
template <unsigned Size>
struct module_table {
  nvtx::function filled[Size] = {};
  nvtx::function* table[Size + 1] = {};

  module_table() noexcept {
    for (unsigned i = 1; i < Size; ++i) table[i] = &filled[i];
  }
  int get(nvtx::function_table* to, unsigned* size) noexcept {
    if (to != nullptr) *to = table;
    if (size != nullptr) *size = Size;
    return 1;
  }
};

struct all_tables {
  module_table<nvtx::core_size> core;
  module_table<nvtx::cuda_size> cuda;
  module_table<nvtx::opencl_size> opencl;
  module_table<nvtx::cuda_runtime_size> cuda_runtime;
  module_table<nvtx::core2_size> core2;
  module_table<nvtx::sync_size> sync;
};

all_tables& tables() {
  // Never freed, since a profiler keeps pointers into it.
  static all_tables* const all = new all_tables;
  return *all;
}

int get_module_table(unsigned which, nvtx::function_table* to, unsigned* size) {
  switch (static_cast<nvtx::module>(which)) {
    case nvtx::module::core: return tables().core.get(to, size);
    case nvtx::module::cuda: return tables().cuda.get(to, size);
    case nvtx::module::opencl: return tables().opencl.get(to, size);
    case nvtx::module::cuda_runtime: return tables().cuda_runtime.get(to, size);
    case nvtx::module::core2: return tables().core2.get(to, size);
    case nvtx::module::sync: return tables().sync.get(to, size);
  }
  return 0;
}

const void* get_export_table(std::uint32_t which) {
  static constexpr nvtx::callbacks_table callbacks{sizeof(nvtx::callbacks_table),
                                                   &get_module_table};
  static constexpr nvtx::version_table version{sizeof(nvtx::version_table), nvtx::version, 0,
                                               [](std::uint32_t) {}};
  switch (which) {
    case nvtx::callbacks_table_number: return &callbacks;
    case nvtx::version_table_number: return &version;
    default: return nullptr;
  }
}

template <class Function>
void assign(Function& to, nvtx::function from) noexcept {
  to = reinterpret_cast<Function>(from);
}

// Loads the profiler. Functions that it does not register stay null.
const profiler* load() noexcept {
  const char* const file = std::getenv(nvtx::library_variable);
  if (file == nullptr || *file == '\0') return nullptr;
  void* const library = ::dlopen(file, RTLD_LAZY);
  if (library == nullptr) return nullptr;
  const auto start =
      reinterpret_cast<nvtx::initialize_injection>(::dlsym(library, nvtx::start_symbol));
  if (start == nullptr || start(&get_export_table) == 0) {
    ::dlclose(library);
    return nullptr;
  }
  static profiler tool;
  const all_tables& filled_tables = tables();
  assign(tool.mark, filled_tables.core.filled[nvtx::mark]);
  assign(tool.push_range, filled_tables.core.filled[nvtx::push_range]);
  assign(tool.pop_range, filled_tables.core.filled[nvtx::pop_range]);
  assign(tool.name_thread, filled_tables.core.filled[nvtx::name_thread]);
  assign(tool.name_device, filled_tables.cuda.filled[nvtx::name_device]);
  assign(tool.name_context, filled_tables.cuda.filled[nvtx::name_context]);
  assign(tool.name_stream, filled_tables.cuda.filled[nvtx::name_stream]);
  assign(tool.name_event, filled_tables.cuda.filled[nvtx::name_event]);
  return &tool;
}

// Marks that no profiler has been searched for yet.
constinit profiler not_loaded;

}  // namespace

constinit const profiler* profiler_in_use = &not_loaded;

const profiler* loaded_profiler() noexcept {
  const std::atomic_ref in_use{profiler_in_use};
  const profiler* const known = in_use.load(std::memory_order_acquire);
  if (known != &not_loaded) return known;
  static std::once_flag once;
  std::call_once(once, [&] { in_use.store(load(), std::memory_order_release); });
  return in_use.load(std::memory_order_acquire);
}

void push_range(const profiler* to, const char* name) noexcept {
  if (to == &not_loaded) to = loaded_profiler();
  if (to != nullptr && to->push_range != nullptr) to->push_range(name);
}

void pop_range(const profiler* from) noexcept {
  if (from == &not_loaded) from = loaded_profiler();
  if (from != nullptr && from->pop_range != nullptr) from->pop_range();
}

void mark(const profiler* at, const char* name) noexcept {
  if (at == &not_loaded) at = loaded_profiler();
  if (at != nullptr && at->mark != nullptr) at->mark(name);
}

}  // namespace weir::detail
