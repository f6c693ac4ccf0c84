// SPDX-License-Identifier: Apache-2.0
// model/graph/node_work.cpp - converts between parameters of nodes and work.
#include "embedded/model/graph/node_work.hpp"

#include <algorithm>

#include "embedded/model/core/context.hpp"
#include "embedded/model/core/device.hpp"
#include "embedded/model/core/process.hpp"
#include "embedded/model/graph/graph.hpp"
#include "embedded/model/memory/address_map.hpp"
#include "embedded/model/memory/array.hpp"
#include "embedded/model/stream/box_copy.hpp"
#include "embedded/model/stream/operations.hpp"

namespace weir::embedded::model {

using namespace abi;

namespace {

// Describes the position of a box in an array, which begins `offset` bytes after the array's start.
box_operand operand_of(const array& source_array, std::size_t offset) noexcept {
  return {.type = CU_MEMORYTYPE_ARRAY,
          .array = source_array.handle(),
          .x = offset % source_array.row_bytes,
          .y = offset / source_array.row_bytes % source_array.rows,
          .z = offset / source_array.slice_bytes()};
}

// Returns the allocation that holds the address, or null. Also finds memory of allocation nodes
// that no launch has allocated yet.
const allocation* find_memory(const std::byte* data) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(data);
  const allocation* const record = address_map::find(address);
  return record != nullptr ? record : address_map::find_graph_memory(address, 1);
}

// Describes one side of a captured copy by the kind of memory at `data`. An address that no
// allocation holds is pageable host memory.
box_operand operand_of(const std::byte* data, std::size_t pitch, std::size_t slice) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(data);
  const allocation* const record = find_memory(data);
  if (record != nullptr && record->kind == memory_kind::array)
    return operand_of(*record->owning_array, address - record->start());
  box_operand operand{
      .type = CU_MEMORYTYPE_DEVICE, .pitch = pitch, .rows = pitch == 0 ? 0 : slice / pitch};
  if (record != nullptr && !record->on_host) {
    operand.device = address;
  } else {
    operand.type = CU_MEMORYTYPE_HOST;
    operand.host = data;
  }
  return operand;
}

// Describes an operand as CU_MEMORYTYPE_UNIFIED, as the program passed it. operand_of() has set the
// type of the allocation instead.
void make_unified(box_operand& operand, const std::byte* data) noexcept {
  operand.type = CU_MEMORYTYPE_UNIFIED;
  operand.device = reinterpret_cast<CUdeviceptr>(data);
  operand.host = nullptr;
}

// Returns the parameters of a node with one value operation, a wait or a write.
template <class Work>
value_params value_params_of(const Work& work, CUstreamBatchMemOpType operation, unsigned flags,
                             const context& owner_context) {
  CUstreamBatchMemOpParams params{};
  params.waitValue = {operation, reinterpret_cast<CUdeviceptr>(work.word), {}, flags, 0};
  params.waitValue.value64 = work.value;  // writeValue has the layout of waitValue
  return {owner_context.handle(), {params}};
}

// Returns the owner of the memory. An address without a record is pageable host memory.
memory_ownership ownership_of(const std::byte* data) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(data);
  if (const allocation* const record = address_map::find(address)) {
    return record->owner_context == nullptr && !record->on_host ? memory_ownership::unowned
                                                                : memory_ownership::context_owned;
  }
  return address_map::find_graph_memory(address, 1) != nullptr ? memory_ownership::graph_owned
                                                               : memory_ownership::context_owned;
}

operand_info info_of(const std::byte* data) noexcept {
  return {operand_of(data, 0, 0).type, ownership_of(data)};
}

// Returns the ordinal of the memory's device; -1 for host memory, which belongs to no device.
std::int8_t device_of(const std::byte* data) noexcept {
  const allocation* const record = find_memory(data);
  return record == nullptr || record->on_host
             ? std::int8_t{-1}
             : static_cast<std::int8_t>(record->memory_device->ordinal());
}

}  // namespace

CUresult to_work(const CUDA_MEMSET_NODE_PARAMS& params, memset_work& out,
                 const memory_user& user) noexcept {
  const std::size_t element = params.elementSize;
  if (element != 1 && element != 2 && element != 4) return CUDA_ERROR_INVALID_VALUE;
  if (params.width == 0 || params.height == 0 || params.dst % element != 0)
    return CUDA_ERROR_INVALID_VALUE;
  std::size_t row = 0;
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(params.width, element, &row)) return CUDA_ERROR_INVALID_VALUE;
  if (params.height > 1) {
    if (params.pitch < row || params.pitch % element != 0) return CUDA_ERROR_INVALID_VALUE;
    if (__builtin_mul_overflow(params.pitch, params.height - 1, &bytes))
      return CUDA_ERROR_INVALID_VALUE;
  }
  if (__builtin_add_overflow(bytes, row, &bytes)) return CUDA_ERROR_INVALID_VALUE;
  memory_operand dst;
  if (const CUresult error = resolve_operand(params.dst, bytes, operand_kind::known, write_access,
                                             dst, access_time::in_graph, user))
    return error;
  out = {dst.data, params.pitch, params.width, params.height, params.value, params.elementSize};
  return CUDA_SUCCESS;
}

CUresult to_work(const CUDA_MEMCPY3D& params, pitched_copy_work& out,
                 const memory_user& user) noexcept {
  const box_copy copy = describe(params);
  if (copy.size.empty()) return CUDA_ERROR_INVALID_VALUE;
  memory_operand dst;
  memory_operand src;
  return resolve_box(copy, dst, src, out, access_time::in_graph, {user, user});
}

memset_params params_of(const memset_work& work, const context& owner_context) noexcept {
  const CUDA_MEMSET_NODE_PARAMS desc{.dst = reinterpret_cast<CUdeviceptr>(work.dst),
                                     .pitch = work.pitch,
                                     .value = work.value,
                                     .elementSize = work.element_size,
                                     .width = work.width,
                                     .height = work.height};
  memset_work unused;
  return {.desc = desc,
          .context = owner_context.handle(),
          .captured = true,
          .unknown = to_work(desc, unused) != CUDA_SUCCESS};
}

copy_params params_of(const copy_work& work, const context& owner_context) noexcept {
  return params_of(pitched_copy_work{.dst = work.dst, .src = work.src, .width = work.bytes},
                   owner_context);
}

copy_params params_of(const pitched_copy_work& work, const context& owner_context) noexcept {
  box_operand dst = operand_of(work.dst, work.dst_pitch, work.dst_slice);
  box_operand src = operand_of(work.src, work.src_pitch, work.src_slice);
  if (work.dst_unified) make_unified(dst, work.dst);
  if (work.src_unified) make_unified(src, work.src);
  CUDA_MEMCPY3D desc{};
  desc.srcXInBytes = src.x;
  desc.srcY = src.y;
  desc.srcZ = src.z;
  desc.srcMemoryType = src.type;
  desc.srcHost = src.host;
  desc.srcDevice = src.device;
  desc.srcArray = src.array;
  desc.srcPitch = src.pitch;
  desc.srcHeight = src.rows;
  desc.dstXInBytes = dst.x;
  desc.dstY = dst.y;
  desc.dstZ = dst.z;
  desc.dstMemoryType = dst.type;
  desc.dstHost = const_cast<void*>(dst.host);
  desc.dstDevice = dst.device;
  desc.dstArray = dst.array;
  desc.dstPitch = dst.pitch;
  desc.dstHeight = dst.rows;
  desc.WidthInBytes = work.width;
  desc.Height = work.height;
  desc.Depth = work.depth;
  return {desc, owner_context.handle()};
}

value_params params_of(const value_wait& work, const context& owner_context) {
  const CUstreamBatchMemOpType operation =
      work.size == 4 ? CU_STREAM_MEM_OP_WAIT_VALUE_32 : CU_STREAM_MEM_OP_WAIT_VALUE_64;
  return value_params_of(work, operation, work.comparison, owner_context);
}

value_params params_of(const value_write& work, const context& owner_context) {
  const CUstreamBatchMemOpType operation =
      work.size == 4 ? CU_STREAM_MEM_OP_WRITE_VALUE_32 : CU_STREAM_MEM_OP_WRITE_VALUE_64;
  return value_params_of(work, operation, CU_STREAM_WRITE_VALUE_DEFAULT, owner_context);
}

node_operands operands_of(const node_params& params) noexcept {
  const bool has_several_devices = this_process().has_several_devices();
  if (const auto* const copy = std::get_if<copy_params>(&params)) {
    pitched_copy_work work;
    if (to_work(copy->desc, work) != CUDA_SUCCESS) return {};
    node_operands operands{
        .src = info_of(work.src), .dst = info_of(work.dst), .fixed = copy->fixed};
    if (work.src_unified) operands.src.declared_type = CU_MEMORYTYPE_UNIFIED;
    if (work.dst_unified) operands.dst.declared_type = CU_MEMORYTYPE_UNIFIED;
    if (has_several_devices) operands.src_device = device_of(work.src);
    if (has_several_devices) operands.dst_device = device_of(work.dst);
    return operands;
  }
  if (!has_several_devices) return {};
  if (const auto* const memset = std::get_if<memset_params>(&params)) {
    return {.dst_device = device_of(reinterpret_cast<const std::byte*>(memset->desc.dst))};
  }
  if (const auto* const values = std::get_if<value_params>(&params)) {
    const context* const user = this_process().contexts.find(values->context);
    if (user != nullptr) return {.dst_device = static_cast<std::int8_t>(user->owner().ordinal())};
  }
  return {};
}

memory_user memory_user_of_node(CUcontext context) noexcept {
  const process& p = this_process();
  return {p.has_several_devices() ? p.contexts.find(context) : nullptr};
}

CUcontext context_for_memset(CUdeviceptr memory, CUcontext requested) noexcept {
  const process& p = this_process();
  if (!p.has_several_devices()) return requested;
  const allocation* const record = address_map::find(memory);
  const context* const requested_context = p.contexts.find(requested);
  const bool owned = record != nullptr && record->kind == memory_kind::device;
  return owned && requested_context != nullptr &&
                 record->memory_device != &requested_context->owner()
             ? record->owner_context->handle()
             : requested;
}

// to_work() without a user fails for a node whose memory was freed. Such a node does not count.
bool has_inaccessible_memset(const graph& source_graph) noexcept {
  const auto is_inaccessible = [](const graph_node* node) {
    const auto* const memset = std::get_if<memset_params>(&node->params);
    memset_work unused;
    return memset != nullptr && to_work(memset->desc, unused) == CUDA_SUCCESS &&
           to_work(memset->desc, unused, memory_user_of_node(memset->context)) != CUDA_SUCCESS;
  };
  return std::ranges::any_of(source_graph.nodes(), is_inaccessible) ||
         source_graph.search_subgraphs(has_inaccessible_memset);
}

}  // namespace weir::embedded::model
