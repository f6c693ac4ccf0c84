// SPDX-License-Identifier: Apache-2.0
// api/memory/external_memory.cpp - imported memory, its mappings, and the release of both.
#include <weir/memory/external_memory.hpp>

#include "api/capture/relaxed_capture_guard.hpp"
#include "api/core/check.hpp"
#include "api/core/duplicated_descriptor.hpp"
#include "api/core/first_failure.hpp"
#include "api/deferred/reclaimer.hpp"
#include "api/device/device_wait.hpp"
#include "api/device/make_current.hpp"
#include "api/device/primary_context.hpp"

#include <unistd.h>

#include <atomic>
#include <limits>
#include <memory>

namespace weir::detail {

// An imported memory object of another API, shared by its external_memory object and the buffers
// that are mapped from it.
struct external_import {
  CUexternalMemory handle;
  std::size_t bytes;
  weir::device gpu;
  CUcontext context;
  std::atomic<int> owners{1};
};

namespace {

// Counts one owner of the import less. The last owner destroys the import.
void release_import(external_import* import, first_failure& failure) noexcept {
  if (import->owners.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  const std::unique_ptr<external_import> last{import};
  call_in_context(last->context, failure, [&] {
    failure.note(driver().cuDestroyExternalMemory(last->handle), "cuDestroyExternalMemory");
  });
}

void free_mapping(void* address, void* owner, first_failure& failure) noexcept {
  auto* const import = static_cast<external_import*>(owner);
  call_blocking_in_context(import->context, failure, [&] {
    failure.note(driver().cuMemFree_v2(device_address(address)), "cuMemFree");
  });
  release_import(import, failure);  // the mapping must be freed before the import
}

constexpr memory_deleter mapping_deleter{"cuMemFree", &free_mapping};

}  // namespace

void external_import_deleter::operator()(external_import* import) const noexcept {
  run_or_defer([import] {
    const weir::device gpu = import->gpu;
    first_failure failure;
    const relaxed_capture_mode guard{failure};
    release_import(import, failure);
    report_if_failed(failure, gpu);
  });
}

mapped_memory::mapped_memory(const external_memory& memory, std::size_t offset, std::size_t count,
                             std::size_t element_bytes, std::size_t alignment, call_site at) {
  constexpr const char* call = "cuExternalMemoryGetMappedBuffer";
  if (memory.closed()) throw_closed(call, subject{}, at);
  external_import& import = *memory.import_;
  require_outside_host_function(call, import.gpu, at);
  if (count == 0 || count > std::numeric_limits<std::ptrdiff_t>::max() / element_bytes) {
    throw_error(errc::invalid_value, call, to_text(import.gpu),
                "the number of elements is 0 or too large; map at least one element, and no more "
                "than the memory has",
                at);
  }
  if (offset % alignment != 0) {
    throw_error(errc::invalid_value, call, to_text(import.gpu),
                "the offset is not aligned for the element type; use a multiple of the element's "
                "alignment",
                at);
  }
  CUDA_EXTERNAL_MEMORY_BUFFER_DESC part{};
  part.offset = offset;
  part.size = count * element_bytes;
  CUdeviceptr address = 0;
  {
    const make_current current{import.context, at};
    check(driver().cuExternalMemoryGetMappedBuffer(&address, import.handle, &part), call,
          import.gpu, at);
  }
  import.owners.fetch_add(1, std::memory_order_relaxed);
  deleter_ = &mapping_deleter;
  owner_ = &import;
  own(to_pointer(address), count * element_bytes, import.context);
}

}  // namespace weir::detail

namespace weir {

using namespace detail;

external_memory external_memory::import_fd(int descriptor, std::size_t size_bytes, weir::device gpu,
                                           external_memory_options options, call_site at) {
  constexpr const char* call = "cuImportExternalMemory";
  require_outside_host_function(call, gpu, at);
  const CUcontext context = primary_context(gpu, at);
  std::unique_ptr<external_import> import{new external_import{nullptr, size_bytes, gpu, context}};
  duplicated_descriptor duplicate{descriptor};
  CUDA_EXTERNAL_MEMORY_HANDLE_DESC desc{};
  desc.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
  desc.handle.fd = duplicate.get();
  desc.size = size_bytes;
  desc.flags = options.dedicated ? CUDA_EXTERNAL_MEMORY_DEDICATED : 0;
  const make_current current{context, at};
  const relaxed_capture_mode guard{at};
  check(driver().cuImportExternalMemory(&import->handle, &desc), call, gpu, at);
  // The driver owns the duplicate, so the original is no longer needed.
  if (duplicate.release_to_driver()) ::close(descriptor);
  return external_memory{import.release()};
}

void external_memory::close(call_site at) {
  if (closed()) return;
  const weir::device gpu = import_->gpu;
  require_outside_host_function("cuDestroyExternalMemory", gpu, at);
  const relaxed_capture_mode guard{at};
  first_failure failure;
  release_import(import_.release(), failure);
  check(failure, gpu, at);
}

std::size_t external_memory::size_bytes() const noexcept { return closed() ? 0 : import_->bytes; }
weir::device external_memory::device() const noexcept {
  return closed() ? weir::device{} : import_->gpu;
}
CUextMemory_st* external_memory::get() const noexcept {
  return closed() ? closed_handle<CUextMemory_st>() : import_->handle;
}

}  // namespace weir
