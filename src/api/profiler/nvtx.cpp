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
#include <type_traits>

namespace weir::detail {
namespace {

// The function table of one module: `table` is passed to the profiler, and its entries point to
// `filled`, where the profiler writes its functions.
struct module_table {
  unsigned size;  // number of entries, including entry 0, which is null
  nvtx::function filled[nvtx::max_module_size] = {};
  nvtx::function* table[nvtx::max_module_size + 1] = {};

  module_table(unsigned size_of_module) noexcept : size{size_of_module} {
    for (unsigned i = 1; i < size; ++i) table[i] = &filled[i];
  }
};

// Returns the table of the module. Profilers expect tables of all modules, with all entries,
// although weir calls only some functions.
module_table& table_of(nvtx::module which) {
  // In the order of nvtx::module. A profiler keeps pointers into the tables, which have no
  // destructor.
  static module_table tables[] = {nvtx::core_size,         nvtx::cuda_size,  nvtx::opencl_size,
                                  nvtx::cuda_runtime_size, nvtx::core2_size, nvtx::sync_size};
  static_assert(std::is_trivially_destructible_v<module_table>);
  return tables[static_cast<unsigned>(which) - 1];
}

int get_module_table(unsigned which, nvtx::function_table* result, unsigned* size) {
  const auto last = static_cast<unsigned>(nvtx::module::sync);
  if (which == 0 || which > last) return 0;
  module_table& requested = table_of(static_cast<nvtx::module>(which));
  if (result != nullptr) *result = requested.table;
  if (size != nullptr) *size = requested.size;
  return 1;
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
  const auto& core = table_of(nvtx::module::core).filled;
  const auto& cuda = table_of(nvtx::module::cuda).filled;
  assign(tool.mark, core[nvtx::mark]);
  assign(tool.push_range, core[nvtx::push_range]);
  assign(tool.pop_range, core[nvtx::pop_range]);
  assign(tool.name_thread, core[nvtx::name_thread]);
  assign(tool.name_device, cuda[nvtx::name_device]);
  assign(tool.name_context, cuda[nvtx::name_context]);
  assign(tool.name_stream, cuda[nvtx::name_stream]);
  assign(tool.name_event, cuda[nvtx::name_event]);
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
