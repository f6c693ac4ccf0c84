// SPDX-License-Identifier: Apache-2.0
// embedded/entry/proc_table.cpp - the search, and the functions of an embedded driver without the
// drop-in.
#include "embedded/entry/proc_table.hpp"

#include "embedded/entry/entries.hpp"

#include <cstring>

namespace weir::embedded::entry {
namespace {

template <class Function>
const void* address(Function* function) noexcept {
  return reinterpret_cast<const void*>(function);
}

CUresult not_supported() noexcept { return CUDA_ERROR_NOT_SUPPORTED; }

// A function without a per-thread variant serves both default streams.
#define WEIR_PER_THREAD_none(symbol) address(entries.symbol)
#define WEIR_PER_THREAD_ptsz(symbol) address(&per_thread<entries.symbol>::call)
#define WEIR_PER_THREAD_ptds(symbol) address(&per_thread<entries.symbol>::call)

const proc default_procs[] = {
#define WEIR_FUNCTION(symbol, base, version, variant, parameters, arguments) \
  {#base, version, address(entries.symbol), WEIR_PER_THREAD_##variant(symbol)},
#include "driver/functions.def"
#undef WEIR_FUNCTION
#define WEIR_UNSUPPORTED(symbol, base, version, variant) \
  {#base, version, address(&not_supported), address(&not_supported)},
#include "embedded/entry/unsupported.def"
#undef WEIR_UNSUPPORTED
};

constinit std::span<const proc> published;

}  // namespace

found_proc find_proc(const char* base, int version, bool per_thread) noexcept {
  const std::span<const proc> procs = published.empty() ? std::span{default_procs} : published;
  const proc* best = nullptr;
  bool name_found = false;
  for (const proc& p : procs) {
    if (std::strcmp(p.base, base) != 0) continue;
    name_found = true;
    if (p.version <= version && (best == nullptr || p.version > best->version)) best = &p;
  }
  // Per-thread variants exist since CUDA 7.0, also of functions that are older.
  if (best != nullptr && per_thread && best->per_thread != best->plain && version < 7000)
    best = nullptr;
  if (best != nullptr)
    return {per_thread ? best->per_thread : best->plain, CU_GET_PROC_ADDRESS_SUCCESS};
  return {nullptr, name_found ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                              : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND};
}

void publish_procs(std::span<const proc> procs) noexcept { published = procs; }

}  // namespace weir::embedded::entry
