// entry/memcpy_batch.cpp - cuMemcpyBatchAsync: many copies in one call.
#include "embedded/entry/entry.hpp"
#include "embedded/entry/guard.hpp"
#include "embedded/model/stream/transfer.hpp"

#include <span>

namespace weir::embedded::entry {

namespace {

CUresult resolve_operand(CUdeviceptr address, std::size_t bytes, CUmemAccess_flags wanted,
                         const model::memory_user& by, model::memory_operand& out) {
  return model::resolve_operand(address, bytes, model::operand_kind::any, wanted, out,
                                model::access_time::now, by);
}

// A hint where managed memory is, or none. It has no effect.
bool is_hint(const model::process& p, const CUmemLocation& where) {
  if (where.type == CU_MEM_LOCATION_TYPE_DEVICE) return p.find_device(where.id) != nullptr;
  return where.type <= CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT;
}

bool is_valid(const model::process& p, const CUmemcpyAttributes& attributes) {
  const CUmemcpySrcAccessOrder order = attributes.srcAccessOrder;
  if (order < CU_MEMCPY_SRC_ACCESS_ORDER_STREAM || order > CU_MEMCPY_SRC_ACCESS_ORDER_ANY)
    return false;
  if ((attributes.flags & ~unsigned{CU_MEMCPY_FLAG_PREFER_OVERLAP_WITH_COMPUTE}) != 0) return false;
  return is_hint(p, attributes.srcLocHint) && is_hint(p, attributes.dstLocHint);
}

// Each set of attributes holds from its index on, up to the next one's.
bool are_in_order(const model::process& p, std::span<const CUmemcpyAttributes> attributes,
                  std::span<const std::size_t> indices, std::size_t count) {
  if (attributes.empty() || attributes.size() > count || indices[0] != 0) return false;
  for (std::size_t i = 0; i < attributes.size(); ++i) {
    if (!is_valid(p, attributes[i])) return false;
    if (indices[i] >= count || (i > 0 && indices[i] <= indices[i - 1])) return false;
  }
  return true;
}

}  // namespace

// What comes before a copy that cannot be made is copied all the same, as an H200 does.
CUresult cuMemcpyBatchAsync_v2(CUdeviceptr* dsts, CUdeviceptr* srcs, size_t* sizes, size_t count,
                               CUmemcpyAttributes* attrs, size_t* indices, size_t attr_count,
                               CUstream stream) {
  return guarded_outside_host_functions([&](model::process& p) -> CUresult {
    // Null is refused also where it is the thread's own stream.
    if (stream == CU_STREAM_LEGACY || stream == nullptr) return CUDA_ERROR_INVALID_VALUE;
    model::stream* in = nullptr;
    if (const CUresult status = find_stream(p, stream, in); status != CUDA_SUCCESS) return status;
    if (count == 0 || dsts == nullptr || srcs == nullptr || sizes == nullptr || attrs == nullptr ||
        indices == nullptr || !are_in_order(p, {attrs, attr_count}, {indices, attr_count}, count)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    if (model::this_thread().current() == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (in->capture() != nullptr) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;

    const model::memory_user by = copy_user_for(p, *in);
    std::size_t set = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (set + 1 < attr_count && indices[set + 1] == i) ++set;
      if (sizes[i] == 0) return CUDA_ERROR_INVALID_VALUE;
      model::memory_operand to;
      model::memory_operand from;
      if (const CUresult status = resolve_operand(dsts[i], sizes[i], model::write_access, by, to))
        return status;
      if (const CUresult status = resolve_operand(srcs[i], sizes[i], model::read_access, by, from))
        return status;
      const bool at_once = attrs[set].srcAccessOrder == CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL;
      const auto reading =
          at_once ? model::source_access_order::during_call : model::source_access_order::any_order;
      if (const CUresult status = model::copy_async(*in, to, from, sizes[i], reading))
        return status;
    }
    return CUDA_SUCCESS;
  });
}

}  // namespace weir::embedded::entry
