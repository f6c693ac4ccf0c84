// entry/value_operation.cpp - cuStreamWaitValue*, cuStreamWriteValue*, cuStreamBatchMemOp: words of memory in stream order.
#include "embedded/entry/entry.hpp"
#include "embedded/entry/guard.hpp"
#include "embedded/model/address_map.hpp"
#include "embedded/model/capture.hpp"

#include <span>
#include <variant>
#include <vector>

namespace weir::embedded::entry {

namespace {

constexpr unsigned most_operations_in_a_batch = 255;

// A word that streams may use: aligned, in device, pinned or registered memory, not in managed.
CUresult find_word(CUdeviceptr address, std::uint32_t size, void*& out) {
  if (address == 0 || address % size != 0) return CUDA_ERROR_INVALID_VALUE;
  const model::allocation* in = model::address_map::find(address);
  if (in == nullptr || in->kind == model::memory_kind::managed || !in->holds_range(address, size)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  out = reinterpret_cast<void*>(address);
  return CUDA_SUCCESS;
}

CUresult make_wait(CUdeviceptr address, std::uint64_t value, std::uint32_t size, unsigned flags, model::value_wait& out) {
  if ((flags & CU_STREAM_WAIT_VALUE_FLUSH) != 0) return CUDA_ERROR_NOT_SUPPORTED;  // as the device attribute says
  if (flags > CU_STREAM_WAIT_VALUE_NOR) return CUDA_ERROR_INVALID_VALUE;
  void* word = nullptr;
  if (const CUresult status = find_word(address, size, word); status != CUDA_SUCCESS) return status;
  out = {word, value, flags, size};
  return CUDA_SUCCESS;
}

CUresult make_write(CUdeviceptr address, std::uint64_t value, std::uint32_t size, unsigned flags, model::value_write& out) {
  if (flags != CU_STREAM_WRITE_VALUE_DEFAULT) return CUDA_ERROR_INVALID_VALUE;  // an H200 knows no write without barrier
  void* word = nullptr;
  if (const CUresult status = find_word(address, size, word); status != CUDA_SUCCESS) return status;
  out = {word, value, size};
  return CUDA_SUCCESS;
}

using value_work = std::variant<std::monostate, model::value_wait, model::value_write>;

// One operation of a batch; a barrier needs no work, because every operation here is one.
CUresult make_work(const CUstreamBatchMemOpParams& op, value_work& out) {
  const auto wait = [&](std::uint64_t value, std::uint32_t size) {
    return make_wait(op.waitValue.address, value, size, op.waitValue.flags, out.emplace<model::value_wait>());
  };
  const auto write = [&](std::uint64_t value, std::uint32_t size) {
    return make_write(op.writeValue.address, value, size, op.writeValue.flags, out.emplace<model::value_write>());
  };
  switch (op.operation) {
    case CU_STREAM_MEM_OP_WAIT_VALUE_32:
      return wait(op.waitValue.value, 4);
    case CU_STREAM_MEM_OP_WAIT_VALUE_64:
      return wait(op.waitValue.value64, 8);
    case CU_STREAM_MEM_OP_WRITE_VALUE_32:
      return write(op.writeValue.value, 4);
    case CU_STREAM_MEM_OP_WRITE_VALUE_64:
      return write(op.writeValue.value64, 8);
    case CU_STREAM_MEM_OP_BARRIER:
      return op.memoryBarrier.flags <= CU_STREAM_MEMORY_BARRIER_TYPE_GPU ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES:
      return CUDA_ERROR_NOT_SUPPORTED;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

template <class Work, class Make>
CUresult submit_one(CUstream stream, Make make) {
  return guarded([&](model::process& p) -> CUresult {
    model::stream* found = nullptr;
    if (const CUresult status = find_stream(p, stream, found); status != CUDA_SUCCESS) return status;
    Work work;
    if (const CUresult status = make(work); status != CUDA_SUCCESS) return status;
    return found->submit(work);
  });
}

CUresult wait_for(CUstream stream, CUdeviceptr address, std::uint64_t value, std::uint32_t size, unsigned flags) {
  return submit_one<model::value_wait>(stream, [&](model::value_wait& w) { return make_wait(address, value, size, flags, w); });
}

CUresult write(CUstream stream, CUdeviceptr address, std::uint64_t value, std::uint32_t size, unsigned flags) {
  return submit_one<model::value_write>(stream,
                                        [&](model::value_write& w) { return make_write(address, value, size, flags, w); });
}

}  // namespace

CUresult cuStreamWaitValue32_v2(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned flags) {
  return wait_for(stream, address, value, 4, flags);
}

CUresult cuStreamWaitValue64_v2(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned flags) {
  return wait_for(stream, address, value, 8, flags);
}

CUresult cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned flags) {
  return write(stream, address, value, 4, flags);
}

CUresult cuStreamWriteValue64_v2(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned flags) {
  return write(stream, address, value, 8, flags);
}

// All or nothing: the whole batch is checked before any of it is submitted.
CUresult cuStreamBatchMemOp_v2(CUstream stream, unsigned count, CUstreamBatchMemOpParams* ops, unsigned flags) {
  return guarded([&](model::process& p) -> CUresult {
    model::stream* found = nullptr;
    if (const CUresult status = find_stream(p, stream, found); status != CUDA_SUCCESS) return status;
    if (flags != 0 || count > most_operations_in_a_batch || (count != 0 && ops == nullptr)) return CUDA_ERROR_INVALID_VALUE;
    std::vector<value_work> works(count);
    for (unsigned i = 0; i < count; ++i) {
      if (const CUresult status = make_work(ops[i], works[i]); status != CUDA_SUCCESS) return status;
    }
    if (class model::capture* capture = found->capture()) return capture->add_batch(*found, {ops, count});
    std::vector<engine::operation> batch;
    batch.reserve(count);
    for (const value_work& work : works) {
      if (const auto* w = std::get_if<model::value_wait>(&work)) {
        batch.push_back(engine::make_operation(*w, engine::operation_kind::wait_value));
      } else if (const auto* v = std::get_if<model::value_write>(&work)) {
        batch.push_back(engine::make_operation(*v));
      }
    }
    found->submit(batch);
    return CUDA_SUCCESS;
  });
}

}  // namespace weir::embedded::entry
