// model/value_work.cpp - checking waits for and writes to words of memory.
#include "embedded/model/stream/value_work.hpp"

#include "embedded/model/memory/address_map.hpp"

namespace weir::embedded::model {

using namespace abi;

namespace {

struct found_word {
  void* at = nullptr;
  bool denied = false;  // streams may not do this with it
};

// A word may reach over the end of an allocation, as far as memory is there.
CUresult find_word(CUdeviceptr address, std::uint32_t size, CUmemAccess_flags wanted,
                   const value_access& use, found_word& out) {
  if (address % size != 0) return CUDA_ERROR_INVALID_VALUE;
  out.at = reinterpret_cast<void*>(address);
  if (use.check == value_address_check::alignment) return CUDA_SUCCESS;
  const allocation* in = address_map::find(address);
  if (in == nullptr || address - in->start() + size > in->extent) return CUDA_ERROR_INVALID_VALUE;
  const bool called = use.check == value_address_check::call;
  if (called && (!supports_value_operations(*in) || !in->allows(CU_MEM_ACCESS_FLAGS_PROT_READ) ||
                 !can_access(use.by, *in, address, size, CU_MEM_ACCESS_FLAGS_PROT_READ))) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  out.denied = !in->allows(wanted);
  return CUDA_SUCCESS;
}

}  // namespace

bool supports_value_operations(const allocation& memory) noexcept {
  return memory.kind != memory_kind::managed && memory.kind != memory_kind::managed_variable &&
         memory.kind != memory_kind::pooled && memory.kind != memory_kind::graph;
}

CUresult make_wait(CUdeviceptr address, std::uint64_t value, std::uint32_t size, unsigned flags,
                   value_wait& out, const value_access& use) {
  constexpr unsigned flush = CU_STREAM_WAIT_VALUE_FLUSH;
  if ((flags & ~flush) > CU_STREAM_WAIT_VALUE_NOR) return CUDA_ERROR_INVALID_VALUE;
  if ((flags & flush) != 0) return CUDA_ERROR_NOT_SUPPORTED;  // as the device attribute says
  found_word word;
  if (const CUresult status = find_word(address, size, CU_MEM_ACCESS_FLAGS_PROT_READ, use, word);
      status != CUDA_SUCCESS)
    return status;
  out = {word.at, value, flags, size, word.denied};
  return CUDA_SUCCESS;
}

CUresult make_write(CUdeviceptr address, std::uint64_t value, std::uint32_t size, unsigned flags,
                    value_write& out, const value_access& use) {
  if (flags != CU_STREAM_WRITE_VALUE_DEFAULT)
    return CUDA_ERROR_INVALID_VALUE;  // an H200 knows no write without barrier
  found_word word;
  if (const CUresult status =
          find_word(address, size, CU_MEM_ACCESS_FLAGS_PROT_READWRITE, use, word);
      status != CUDA_SUCCESS)
    return status;
  out = {word.at, value, size, word.denied};
  return CUDA_SUCCESS;
}

CUresult make_work(const CUstreamBatchMemOpParams& op, value_work& out, const value_access& use) {
  const auto wait = [&](std::uint64_t value, std::uint32_t size) {
    return make_wait(op.waitValue.address, value, size, op.waitValue.flags,
                     out.emplace<value_wait>(), use);
  };
  const auto write = [&](std::uint64_t value, std::uint32_t size) {
    return make_write(op.writeValue.address, value, size, op.writeValue.flags,
                      out.emplace<value_write>(), use);
  };
  switch (op.operation) {
    case CU_STREAM_MEM_OP_WAIT_VALUE_32: return wait(op.waitValue.value, 4);
    case CU_STREAM_MEM_OP_WAIT_VALUE_64: return wait(op.waitValue.value64, 8);
    case CU_STREAM_MEM_OP_WRITE_VALUE_32: return write(op.writeValue.value, 4);
    case CU_STREAM_MEM_OP_WRITE_VALUE_64: return write(op.writeValue.value64, 8);
    case CU_STREAM_MEM_OP_BARRIER:
      return op.memoryBarrier.flags <= CU_STREAM_MEMORY_BARRIER_TYPE_GPU ? CUDA_SUCCESS
                                                                         : CUDA_ERROR_INVALID_VALUE;
    case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES: return CUDA_ERROR_NOT_SUPPORTED;
    default: return CUDA_ERROR_INVALID_VALUE;
  }
}

}  // namespace weir::embedded::model
