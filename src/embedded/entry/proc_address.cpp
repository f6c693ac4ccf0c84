// entry/proc_address.cpp - cuGetProcAddress: checks what it was asked, and looks it up
// (proc_table.hpp); cuGetExportTable.
#include "embedded/entry/entry.hpp"
#include "embedded/entry/proc_table.hpp"

namespace weir::embedded::entry {

// Needs no cuInit, and a host function may call it. The query's status is optional.
CUresult cuGetProcAddress_v2(const char* symbol, void** found, int version, cuuint64_t flags,
                             CUdriverProcAddressQueryResult* status) {
  constexpr cuuint64_t known =
      CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
  if (symbol == nullptr || found == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (version > CUDA_VERSION || (flags & ~known) != 0) return CUDA_ERROR_INVALID_VALUE;
  const bool per_thread = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0;
  const found_proc answer = find_proc(symbol, version < 0 ? CUDA_VERSION : version, per_thread);
  *found = const_cast<void*>(answer.address);
  if (status != nullptr) *status = answer.status;
  return CUDA_SUCCESS;
}

// No table of functions behind an id is known here; the ids are those of one vendor's libraries.
CUresult cuGetExportTable(const void** table, const CUuuid*) {
  if (table != nullptr) *table = nullptr;
  return CUDA_ERROR_INVALID_VALUE;
}

}  // namespace weir::embedded::entry
