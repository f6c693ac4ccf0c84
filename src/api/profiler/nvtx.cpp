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

// The function table of one module: `table` is passed to the profiler, and its entries point to
// `filled`, where the profiler writes its functions. Profilers expect tables of all modules, with
// all entries, although weir calls only some functions.
template <unsigned Size>
struct module_table {
  nvtx::function filled[Size] = {};
  nvtx::function* table[Size + 1] = {};

  module_table() noexcept {
    for (unsigned i = 1; i < Size; ++i) table[i] = &filled[i];
  }
  int get(nvtx::function_table* result, unsigned* size) noexcept {
    if (result != nullptr) *result = table;
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

int get_module_table(unsigned which, nvtx::function_table* result, unsigned* size) {
  switch (static_cast<nvtx::module>(which)) {
    case nvtx::module::core: return tables().core.get(result, size);
    case nvtx::module::cuda: return tables().cuda.get(result, size);
    case nvtx::module::opencl: return tables().opencl.get(result, size);
    case nvtx::module::cuda_runtime: return tables().cuda_runtime.get(result, size);
    case nvtx::module::core2: return tables().core2.get(result, size);
    case nvtx::module::sync: return tables().sync.get(result, size);
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
void assign(Function& slot, nvtx::function function) noexcept {
  slot = reinterpret_cast<Function>(function);
}

// Loads the profiler. Functions that it does not register stay null.
const profiler* load_profiler() noexcept {
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

// The value of profiler_in_use before load_profiler() was called.
constinit profiler not_loaded;

}  // namespace

constinit const profiler* profiler_in_use = &not_loaded;

const profiler* loaded_profiler() noexcept {
  const std::atomic_ref in_use{profiler_in_use};
  const profiler* const known = in_use.load(std::memory_order_acquire);
  if (known != &not_loaded) return known;
  static std::once_flag once;
  std::call_once(once, [&] { in_use.store(load_profiler(), std::memory_order_release); });
  return in_use.load(std::memory_order_acquire);
}

void push_range(const profiler* tool, const char* name) noexcept {
  if (tool == &not_loaded) tool = loaded_profiler();
  if (tool != nullptr && tool->push_range != nullptr) tool->push_range(name);
}

void pop_range(const profiler* tool) noexcept {
  if (tool == &not_loaded) tool = loaded_profiler();
  if (tool != nullptr && tool->pop_range != nullptr) tool->pop_range();
}

void mark(const profiler* tool, const char* name) noexcept {
  if (tool == &not_loaded) tool = loaded_profiler();
  if (tool != nullptr && tool->mark != nullptr) tool->mark(name);
}

}  // namespace weir::detail
