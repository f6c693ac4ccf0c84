// model/array.cpp - which arrays can be made, and where they lie.
#include "embedded/model/memory/array.hpp"

#include "embedded/model/core/context.hpp"
#include "embedded/model/core/device.hpp"
#include "embedded/model/core/process.hpp"
#include "embedded/model/memory/address_map.hpp"
#include "embedded/model/memory/allocation_removal.hpp"
#include "embedded/model/memory/array_limits.hpp"
#include "embedded/model/memory/backing.hpp"
#include "embedded/model/memory/pool/pool_registry.hpp"

namespace weir::embedded::model {

using namespace abi;

CUarray array::handle() const noexcept {
  return static_cast<CUarray>(this_process().arrays.handle_of(this));
}

namespace arrays {

namespace {

// The array's shape in bytes; empty where that is no number.
bool lay_out(const CUDA_ARRAY3D_DESCRIPTOR& wanted, array& out) noexcept {
  out.array_descriptor = wanted;
  out.element = traits_of(wanted.Format).channel_bytes * wanted.NumChannels;
  out.rows = wanted.Height != 0 ? wanted.Height : 1;
  out.slices = wanted.Depth != 0 ? wanted.Depth : 1;
  std::size_t bytes = 0;
  return !__builtin_mul_overflow(wanted.Width, out.element, &out.row) &&
         !__builtin_mul_overflow(out.row, out.rows, &bytes) &&
         !__builtin_mul_overflow(bytes, out.slices, &bytes);
}

backing allocate(std::size_t extent, device& from) noexcept {
  backing block = backing::allocate(extent, &from);
  if (block) return block;
  pool_registry::release_all_idle(from, nullptr);
  return backing::allocate(extent, &from);
}

}  // namespace

array* find(CUarray handle) noexcept { return this_process().arrays.find(handle); }

CUresult create(context& in, const CUDA_ARRAY3D_DESCRIPTOR& wanted, CUarray* out) {
  if (const CUresult status = check_array(in.owner(), wanted); status != CUDA_SUCCESS)
    return status;
  array shape;
  if (!lay_out(wanted, shape)) return CUDA_ERROR_INVALID_VALUE;
  const std::size_t extent = backing::extent_of(shape.bytes());
  backing block = allocate(extent, in.owner());
  if (!block) return CUDA_ERROR_OUT_OF_MEMORY;

  auto& table = this_process().arrays;
  array* made = table.acquire();
  try {
    shape.memory =
        &address_map::instance().add(reinterpret_cast<std::uintptr_t>(block.get()), extent);
  } catch (...) {
    table.recycle(made);
    throw;
  }
  *made = shape;
  shape.memory->kind = memory_kind::array;
  shape.memory->owner = &in;
  shape.memory->on = &in.owner();
  shape.memory->elements = made;
  block.release();
  *out = static_cast<CUarray>(table.publish(made));
  shape.memory->open(shape.bytes());
  return CUDA_SUCCESS;
}

CUresult destroy(CUarray handle) {
  array* const found = find(handle);
  if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  allocation_removal ended{found->memory->start(), memory_kind::array};
  if (!ended) return CUDA_ERROR_INVALID_HANDLE;
  ended.owner().synchronize();
  release(ended.commit());
  return CUDA_SUCCESS;
}

void release(allocation& record) noexcept {
  array* const ended = record.elements;
  auto* const at = reinterpret_cast<void*>(record.start());
  const std::size_t extent = record.extent;
  device* const from = record.on;
  auto& table = this_process().arrays;
  table.retire(ended,
               table.handle_of(ended));  // whoever closed the record has the array to himself
  address_map::instance().remove(record);
  backing::deallocate(at, extent, from);
  table.recycle(ended);
}

}  // namespace arrays

}  // namespace weir::embedded::model
