// SPDX-License-Identifier: Apache-2.0
// embedded/model/memory/array.cpp - creates and destroys arrays.
#include "embedded/model/memory/array.hpp"

#include "embedded/model/core/context.hpp"
#include "embedded/model/core/device.hpp"
#include "embedded/model/core/host_waits.hpp"
#include "embedded/model/core/process.hpp"
#include "embedded/model/memory/address_map.hpp"
#include "embedded/model/memory/allocation_removal.hpp"
#include "embedded/model/memory/array_limits.hpp"
#include "embedded/model/memory/backing.hpp"
#include "embedded/model/memory/freed_memory.hpp"
#include "embedded/model/memory/memory.hpp"
#include "embedded/model/memory/pool/pool_registry.hpp"

namespace weir::embedded::model {

using namespace abi;

CUarray array::handle() const noexcept {
  return static_cast<CUarray>(this_process().arrays.handle_of(this));
}

namespace arrays {

namespace {

// Computes the array's layout in bytes. Returns false on overflow.
bool lay_out(const CUDA_ARRAY3D_DESCRIPTOR& requested, array& out) noexcept {
  out.descriptor = requested;
  out.element_bytes = traits_of(requested.Format).channel_bytes * requested.NumChannels;
  out.rows = requested.Height != 0 ? requested.Height : 1;
  out.slices = requested.Depth != 0 ? requested.Depth : 1;
  std::size_t bytes = 0;
  return !__builtin_mul_overflow(requested.Width, out.element_bytes, &out.row_bytes) &&
         !__builtin_mul_overflow(out.row_bytes, out.rows, &bytes) &&
         !__builtin_mul_overflow(bytes, out.slices, &bytes);
}

}  // namespace

array* find(CUarray handle) noexcept { return this_process().arrays.find(handle); }

CUresult create(context& owner_context, const CUDA_ARRAY3D_DESCRIPTOR& requested, CUarray* out) {
  if (const CUresult error = check_array(owner_context.owner(), requested)) return error;
  array shape;
  if (!lay_out(requested, shape)) return CUDA_ERROR_INVALID_VALUE;
  const std::size_t extent = backing::extent_of(shape.bytes());
  backing block = pool_registry::allocate_backing(extent, owner_context.owner());
  if (!block) return CUDA_ERROR_OUT_OF_MEMORY;

  auto& table = this_process().arrays;
  array* created = table.acquire();
  try {
    shape.memory =
        &address_map::instance().add(reinterpret_cast<std::uintptr_t>(block.get()), extent,
                                     {.kind = memory_kind::array,
                                      .owner_context = &owner_context,
                                      .memory_device = &owner_context.owner(),
                                      .owning_array = created});
  } catch (...) {
    table.recycle(created);
    throw;
  }
  *created = shape;
  block.release();
  *out = static_cast<CUarray>(table.publish(created));
  shape.memory->open(shape.bytes());
  return CUDA_SUCCESS;
}

CUresult destroy(CUarray handle) {
  array* const found = find(handle);
  if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  allocation_removal removed{found->memory->start(), memory_kind::array};
  if (!removed) return CUDA_ERROR_INVALID_HANDLE;
  if (makes_allowed_waits()) {
    context& owner = removed.owner_context();
    owner.synchronize();
    release(removed.commit(), &owner);
  } else {
    this_process().arrays.retire(found, handle);
    memory::free_when_idle(removed.commit());
  }
  return CUDA_SUCCESS;
}

void release(allocation& record, const context* awaited) noexcept {
  array* const removed = record.owning_array;
  auto* const address = reinterpret_cast<void*>(record.start());
  const std::size_t extent = record.extent;
  device* const source_device = record.memory_device;
  auto& table = this_process().arrays;
  // Only the thread that closed the record comes here. It may have retired the handle already.
  table.retire(removed, table.handle_of(removed));
  address_map::instance().remove(record);
  freed_memory::release_block(address, extent, source_device, nullptr, awaited);
  table.recycle(removed);
}

}  // namespace arrays

}  // namespace weir::embedded::model
