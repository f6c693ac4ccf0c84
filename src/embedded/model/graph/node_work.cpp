// SPDX-License-Identifier: Apache-2.0
// model/graph/node_work.cpp - converts between parameters of nodes and work.
#include "embedded/model/graph/node_work.hpp"

#include "embedded/model/core/context.hpp"
#include "embedded/model/core/process.hpp"
#include "embedded/model/memory/array.hpp"
#include "embedded/model/stream/box_copy.hpp"
#include "embedded/model/stream/operations.hpp"

namespace weir::embedded::model {

using namespace abi;

namespace {

// One side of a copy, as in a node's parameters.
struct node_operand {
  CUmemorytype type;
  void* host = nullptr;
  CUdeviceptr device = 0;
  CUarray array = nullptr;
  std::size_t x = 0, y = 0, z = 0;
  std::size_t pitch = 0, rows = 0;
};

// Describes a box in an array by its offset.
node_operand operand_of(const array& in, std::size_t offset) noexcept {
  return {.type = CU_MEMORYTYPE_ARRAY,
          .array = in.handle(),
          .x = offset % in.row,
          .y = offset / in.row % in.rows,
          .z = offset / in.slice()};
}

node_operand operand_of(const std::byte* at, std::size_t pitch, std::size_t slice) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  const allocation* in = address_map::find(address);
  if (in == nullptr) in = address_map::find_graph_memory(address, 1);
  if (in != nullptr && in->kind == memory_kind::array)
    return operand_of(*in->elements, address - in->start());
  node_operand operand{
      .type = CU_MEMORYTYPE_DEVICE, .pitch = pitch, .rows = pitch == 0 ? 0 : slice / pitch};
  if (in != nullptr && !in->on_host) {
    operand.device = address;
  } else {
    operand.type = CU_MEMORYTYPE_HOST;
    operand.host = const_cast<std::byte*>(at);
  }
  return operand;
}

node_operand operand_from_parameters(bool unified, const std::byte* at, std::size_t pitch,
                                     std::size_t slice) noexcept {
  node_operand operand = operand_of(at, pitch, slice);
  if (unified) {
    operand.type = CU_MEMORYTYPE_UNIFIED;
    operand.device = reinterpret_cast<CUdeviceptr>(at);
    operand.host = nullptr;
  }
  return operand;
}

memory_ownership ownership_of(std::uintptr_t address) noexcept {
  const allocation* in = address_map::find(address);
  if (in != nullptr)
    return in->owner == nullptr && !in->on_host ? memory_ownership::unowned
                                                : memory_ownership::context_owned;
  return address_map::find_graph_memory(address, 1) != nullptr ? memory_ownership::graph_owned
                                                               : memory_ownership::context_owned;
}

operand_info operand_info_of(bool unified, const std::byte* at) noexcept {
  return {unified ? CU_MEMORYTYPE_UNIFIED : operand_of(at, 0, 0).type,
          ownership_of(reinterpret_cast<std::uintptr_t>(at))};
}

// Returns the ordinal of the memory's device; -1 for host memory, which belongs to no device.
std::int8_t device_of(const std::byte* at) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  const allocation* in = address_map::find(address);
  if (in == nullptr) in = address_map::find_graph_memory(address, 1);
  return in == nullptr || in->on_host ? std::int8_t{-1}
                                      : static_cast<std::int8_t>(in->memory_device->ordinal());
}

}  // namespace

CUresult to_work(const CUDA_MEMSET_NODE_PARAMS& params, memset_work& out,
                 const memory_user& by) noexcept {
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
  memory_operand to;
  if (const CUresult status = resolve_operand(params.dst, bytes, operand_kind::known, write_access,
                                              to, access_time::in_graph, by);
      status != CUDA_SUCCESS) {
    return status;
  }
  out = {to.at, params.pitch, params.width, params.height, params.value, params.elementSize};
  return CUDA_SUCCESS;
}

CUresult to_work(const CUDA_MEMCPY3D& params, pitched_copy_work& out,
                 const memory_user& by) noexcept {
  const box_copy copy = describe(params);
  if (copy.size.empty()) return CUDA_ERROR_INVALID_VALUE;
  memory_operand to;
  memory_operand from;
  return resolve_box(copy, to, from, out, access_time::in_graph, {by, by});
}

CUresult check_operations(std::span<const CUstreamBatchMemOpParams> operations) {
  value_work unused;
  for (const CUstreamBatchMemOpParams& operation : operations) {
    if (const CUresult status = make_work(operation, unused, {value_address_check::node, {}});
        status != CUDA_SUCCESS)
      return status;
  }
  return CUDA_SUCCESS;
}

memset_params params_of(const memset_work& work, const context& in) noexcept {
  return {{.dst = reinterpret_cast<CUdeviceptr>(work.to),
           .pitch = work.pitch,
           .value = work.value,
           .elementSize = work.element_size,
           .width = work.width,
           .height = work.height},
          in.handle(),
          true};
}

copy_params params_of(const copy_work& work, const context& in) noexcept {
  return params_of(pitched_copy_work{.to = work.to, .from = work.from, .width = work.bytes}, in);
}

copy_params params_of(const pitched_copy_work& work, const context& in) noexcept {
  const node_operand to =
      operand_from_parameters(work.to_unified, work.to, work.to_pitch, work.to_slice);
  const node_operand from =
      operand_from_parameters(work.from_unified, work.from, work.from_pitch, work.from_slice);
  CUDA_MEMCPY3D what{};
  what.srcXInBytes = from.x;
  what.srcY = from.y;
  what.srcZ = from.z;
  what.srcMemoryType = from.type;
  what.srcHost = from.host;
  what.srcDevice = from.device;
  what.srcArray = from.array;
  what.srcPitch = from.pitch;
  what.srcHeight = from.rows;
  what.dstXInBytes = to.x;
  what.dstY = to.y;
  what.dstZ = to.z;
  what.dstMemoryType = to.type;
  what.dstHost = to.host;
  what.dstDevice = to.device;
  what.dstArray = to.array;
  what.dstPitch = to.pitch;
  what.dstHeight = to.rows;
  what.WidthInBytes = work.width;
  what.Height = work.height;
  what.Depth = work.depth;
  return {what, in.handle()};
}

value_params params_of(const value_wait& work, const context& in) {
  CUstreamBatchMemOpParams operation{};
  operation.waitValue.operation =
      work.size == 4 ? CU_STREAM_MEM_OP_WAIT_VALUE_32 : CU_STREAM_MEM_OP_WAIT_VALUE_64;
  operation.waitValue.address = reinterpret_cast<CUdeviceptr>(work.word);
  operation.waitValue.value64 = work.value;
  operation.waitValue.flags = work.comparison;
  return {in.handle(), {operation}};
}

value_params params_of(const value_write& work, const context& in) {
  CUstreamBatchMemOpParams operation{};
  operation.writeValue.operation =
      work.size == 4 ? CU_STREAM_MEM_OP_WRITE_VALUE_32 : CU_STREAM_MEM_OP_WRITE_VALUE_64;
  operation.writeValue.address = reinterpret_cast<CUdeviceptr>(work.word);
  operation.writeValue.value64 = work.value;
  operation.writeValue.flags = CU_STREAM_WRITE_VALUE_DEFAULT;
  return {in.handle(), {operation}};
}

bool is_wait(const CUstreamBatchMemOpParams& operation) noexcept {
  return operation.operation == CU_STREAM_MEM_OP_WAIT_VALUE_32 ||
         operation.operation == CU_STREAM_MEM_OP_WAIT_VALUE_64;
}

node_operands operands_of(const node_params& params) noexcept {
  const bool several = this_process().has_several_devices();
  if (const auto* const copy = std::get_if<copy_params>(&params)) {
    pitched_copy_work work;
    if (to_work(copy->desc, work) != CUDA_SUCCESS) return {};
    node_operands operands{.from = operand_info_of(work.from_unified, work.from),
                           .to = operand_info_of(work.to_unified, work.to),
                           .fixed = copy->fixed};
    if (several) operands.from_device = device_of(work.from);
    if (several) operands.to_device = device_of(work.to);
    return operands;
  }
  if (!several) return {};
  if (const auto* const set = std::get_if<memset_params>(&params)) {
    return {.to_device = device_of(reinterpret_cast<const std::byte*>(set->desc.dst))};
  }
  if (const auto* const values = std::get_if<value_params>(&params)) {
    const context* const in = this_process().contexts.find(values->in);
    if (in != nullptr) return {.to_device = static_cast<std::int8_t>(in->owner().ordinal())};
  }
  return {};
}

}  // namespace weir::embedded::model
