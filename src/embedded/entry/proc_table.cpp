// SPDX-License-Identifier: Apache-2.0
// embedded/entry/proc_table.cpp - cuGetProcAddress, cuGetExportTable, and the functions of an
// embedded driver without the drop-in.
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

// The functions of the embedded driver. A function without a per-thread variant has equal addresses
// in both columns.
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

found_proc find_proc(const char* base, int version, default_stream null_meaning) noexcept {
  const bool per_thread = null_meaning == default_stream::per_thread;
  const std::span<const proc> procs = published.empty() ? std::span{default_procs} : published;
  const proc* best = nullptr;
  bool name_found = false;
  for (const proc& p : procs) {
    if (std::strcmp(p.base, base) != 0) continue;
    name_found = true;
    if (p.version <= version && (best == nullptr || p.version > best->version)) best = &p;
  }
  // Per-thread variants exist since CUDA 7.0, so a request for an older version finds none.
  if (best != nullptr && per_thread && best->per_thread != best->plain && version < 7000)
    best = nullptr;
  if (best != nullptr)
    return {per_thread ? best->per_thread : best->plain, CU_GET_PROC_ADDRESS_SUCCESS};
  return {nullptr, name_found ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                              : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND};
}

void publish_procs(std::span<const proc> procs) noexcept { published = procs; }

bool is_dropin() noexcept { return !published.empty(); }

// Works before cuInit and in host functions. `status` may be null. A negative version stands for
// CUDA_VERSION.
CUresult cuGetProcAddress_v2(const char* symbol, void** found, int version, cuuint64_t flags,
                             CUdriverProcAddressQueryResult* status) {
  constexpr cuuint64_t valid_flags =
      CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
  if (symbol == nullptr || found == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (version > CUDA_VERSION || (flags & ~valid_flags) != 0) return CUDA_ERROR_INVALID_VALUE;
  const default_stream null_meaning = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0
                                          ? default_stream::per_thread
                                          : default_stream::legacy;
  const found_proc answer = find_proc(symbol, version < 0 ? CUDA_VERSION : version, null_meaning);
  *found = const_cast<void*>(answer.address);
  if (status != nullptr) *status = answer.status;
  return CUDA_SUCCESS;
}

// Returns an error in all cases: export tables are undocumented, and only the libraries of the
// GPU's vendor use them.
CUresult cuGetExportTable(const void** table, const CUuuid*) {
  if (table != nullptr) *table = nullptr;
  return CUDA_ERROR_INVALID_VALUE;
}

}  // namespace weir::embedded::entry
