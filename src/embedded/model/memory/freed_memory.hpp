// SPDX-License-Identifier: Apache-2.0
// embedded/model/memory/freed_memory.hpp - memory that the program frees while work may still use
// it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "driver/abi.hpp"
#include "embedded/kernel/fibers/access_guard.hpp"

namespace weir::embedded::model {

class context;
class device;
class shared_store;

// A call that frees memory waits for the work of one context, or for none. Work of other streams
// may still use the memory. Its addresses therefore stay reserved until all work that is pending
// now is complete, so that no other memory gets them. What happens to the contents is what happens
// on a GPU:
// - Memory whose free waits on a GPU, of cuMemAlloc, cuMemAllocManaged and cuArrayCreate, stays
//   accessible. Pending work uses it as before.
// - Mapped, imported and opened memory, and memory of a destroyed pool, becomes inaccessible at
// once.
//   Work that uses it makes the device fail with CUDA_ERROR_ILLEGAL_ADDRESS.
// - So does pinned memory, but with CUDA_ERROR_LAUNCH_FAILED. That is also the error for memory
// that
//   the program has unregistered and unmapped. Small pinned blocks, which share a page with others,
//   stay accessible.
//
// `awaited` is the context for whose work the caller has waited, or null. Thread safety: all
// functions may be called from any thread, including one that runs an operation of a stream.
namespace freed_memory {

// Frees a block that backing::release() returned, and that stays accessible to pending work. The
// arguments are those of backing::deallocate().
void release_block(void* address, std::size_t bytes, device* charged_device, shared_store* store,
                   const context* awaited) noexcept;

// Like release_block(), for pinned memory.
void release_pinned(void* address, std::size_t bytes, const context* awaited) noexcept;

// Ends the registration of memory of the program.
void release_registration(std::uintptr_t start, std::size_t bytes, const context* awaited) noexcept;

// Unmaps whole pages, which become inaccessible at once.
void release_pages(void* address, std::size_t bytes, const context* awaited = nullptr) noexcept;

// An operation that calls release_pages().
struct release_pages_operation {
  void* address;
  std::size_t bytes;

  void run() const noexcept { release_pages(address, bytes); }
};

// Makes the device fail because work has used memory that is not there. `address`: the address of
// the access; null if it is unknown.
void fail_access(const void* address) noexcept;

}  // namespace freed_memory

// Runs a function that reads and writes memory of the program, on behalf of an operation. If the
// processor refuses an access, makes the device fail and returns false. See access_guard for what
// the function may do.
template <class Access>
[[nodiscard]] bool access_memory(const Access& access) noexcept {
  kernel::access_guard guard;
  if (guard.run(access)) [[likely]]
    return true;
  freed_memory::fail_access(guard.refused_address());
  return false;
}

}  // namespace weir::embedded::model
