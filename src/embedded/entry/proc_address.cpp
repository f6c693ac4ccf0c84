// SPDX-License-Identifier: Apache-2.0
// embedded/entry/proc_address.cpp - cuGetProcAddress, which searches proc_table.hpp, and
// cuGetExportTable.
#include "embedded/entry/entry.hpp"
#include "embedded/entry/proc_table.hpp"

namespace weir::embedded::entry {

// Needs no cuInit. A host function may call it. `status` is optional.
CUresult cuGetProcAddress_v2(const char* symbol, void** found, int version, cuuint64_t flags,
                             CUdriverProcAddressQueryResult* status) {
  constexpr cuuint64_t valid_flags =
      CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
  if (symbol == nullptr || found == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (version > CUDA_VERSION || (flags & ~valid_flags) != 0) return CUDA_ERROR_INVALID_VALUE;
  const bool per_thread = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0;
  const found_proc answer = find_proc(symbol, version < 0 ? CUDA_VERSION : version, per_thread);
  *found = const_cast<void*>(answer.address);
  if (status != nullptr) *status = answer.status;
  return CUDA_SUCCESS;
}

// Always fails: export tables have ids that only one vendor's libraries use.
CUresult cuGetExportTable(const void** table, const CUuuid*) {
  if (table != nullptr) *table = nullptr;
  return CUDA_ERROR_INVALID_VALUE;
}

}  // namespace weir::embedded::entry
