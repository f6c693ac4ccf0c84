// model/value_work.cpp - checking waits for and writes to words of memory.
#include "embedded/model/value_work.hpp"

#include "embedded/model/address_map.hpp"

namespace weir::embedded::model {

using namespace abi;

namespace {

// A word that streams may use: aligned, in device, pinned or registered memory, not in managed nor in a pool's.
CUresult find_word(CUdeviceptr address, std::uint32_t size, void*& out) {
  if (address == 0 || address % size != 0) return CUDA_ERROR_INVALID_VALUE;
  const allocation* in = address_map::find(address);
  if (in == nullptr || in->kind == memory_kind::managed || in->kind == memory_kind::pooled ||
      !in->holds_range(address, size)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  out = reinterpret_cast<void*>(address);
  return CUDA_SUCCESS;
}

}  // namespace

CUresult make_wait(CUdeviceptr address, std::uint64_t value, std::uint32_t size, unsigned flags, value_wait& out) {
  if ((flags & CU_STREAM_WAIT_VALUE_FLUSH) != 0) return CUDA_ERROR_NOT_SUPPORTED;  // as the device attribute says
  if (flags > CU_STREAM_WAIT_VALUE_NOR) return CUDA_ERROR_INVALID_VALUE;
  void* word = nullptr;
  if (const CUresult status = find_word(address, size, word); status != CUDA_SUCCESS) return status;
  out = {word, value, flags, size};
  return CUDA_SUCCESS;
}

CUresult make_write(CUdeviceptr address, std::uint64_t value, std::uint32_t size, unsigned flags, value_write& out) {
  if (flags != CU_STREAM_WRITE_VALUE_DEFAULT)
    return CUDA_ERROR_INVALID_VALUE;  // an H200 knows no write without barrier
  void* word = nullptr;
  if (const CUresult status = find_word(address, size, word); status != CUDA_SUCCESS) return status;
  out = {word, value, size};
  return CUDA_SUCCESS;
}

CUresult make_work(const CUstreamBatchMemOpParams& op, value_work& out) {
  const auto wait = [&](std::uint64_t value, std::uint32_t size) {
    return make_wait(op.waitValue.address, value, size, op.waitValue.flags, out.emplace<value_wait>());
  };
  const auto write = [&](std::uint64_t value, std::uint32_t size) {
    return make_write(op.writeValue.address, value, size, op.writeValue.flags, out.emplace<value_write>());
  };
  switch (op.operation) {
    case CU_STREAM_MEM_OP_WAIT_VALUE_32: return wait(op.waitValue.value, 4);
    case CU_STREAM_MEM_OP_WAIT_VALUE_64: return wait(op.waitValue.value64, 8);
    case CU_STREAM_MEM_OP_WRITE_VALUE_32: return write(op.writeValue.value, 4);
    case CU_STREAM_MEM_OP_WRITE_VALUE_64: return write(op.writeValue.value64, 8);
    case CU_STREAM_MEM_OP_BARRIER:
      return op.memoryBarrier.flags <= CU_STREAM_MEMORY_BARRIER_TYPE_GPU ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES: return CUDA_ERROR_NOT_SUPPORTED;
    default: return CUDA_ERROR_INVALID_VALUE;
  }
}

}  // namespace weir::embedded::model
