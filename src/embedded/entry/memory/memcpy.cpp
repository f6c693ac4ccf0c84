// SPDX-License-Identifier: Apache-2.0
// embedded/entry/memory/memcpy.cpp - cuMemcpy*: linear copies.
#include "embedded/entry/context/peer_access.hpp"
#include "embedded/entry/entry.hpp"
#include "embedded/entry/guard.hpp"
#include "embedded/model/capture/capture.hpp"
#include "embedded/model/stream/box_copy.hpp"
#include "embedded/model/stream/transfer.hpp"

namespace weir::embedded::entry {

namespace {

using model::memory_operand;
using model::operand_kind;

// A side of a copy, as the program passed it.
struct operand {
  CUdeviceptr address;
  operand_kind kind;
  CUmemorytype type;  // as the node of a captured copy reports it
};

// The operands of functions with a direction in their name (cuMemcpyHtoD) and without one
// (cuMemcpy). The device side of a direction must be memory known to the driver. The host side may
// be any memory, even device memory. Functions without a direction accept any memory on both sides.
operand device_operand(CUdeviceptr address) {
  return {address, operand_kind::known, CU_MEMORYTYPE_DEVICE};
}
operand any_operand(CUdeviceptr address) {
  return {address, operand_kind::any, CU_MEMORYTYPE_UNIFIED};
}
operand host_operand(const void* pointer) {
  return {reinterpret_cast<CUdeviceptr>(pointer), operand_kind::any, CU_MEMORYTYPE_HOST};
}

// A linear copy, as the program passed it. `contexts` is null for a call that names no contexts.
struct linear_copy {
  operand dst, src;
  std::size_t bytes;
  const copy_contexts* contexts = nullptr;
};

// Adds a checked copy to the graph that a stream captures into.
CUresult capture_copy(const linear_copy& copy, model::capture& active_capture,
                      model::stream& target_stream) {
  const auto box_of = [](const operand& side) {
    model::box_operand box{.type = side.type};
    if (side.type == CU_MEMORYTYPE_HOST) {
      box.host = reinterpret_cast<const void*>(side.address);
    } else {
      box.device = side.address;
    }
    return box;
  };
  return active_capture.add_copy(
      target_stream,
      model::description_of({box_of(copy.dst), box_of(copy.src), {copy.bytes, 1, 1}}));
}

// Finds the memory of both sides and calls submit(users, dst, src). Adds a node instead if the
// stream captures. A copy of 0 bytes succeeds with any addresses and calls nothing.
template <class Submit>
CUresult locate_copy(const linear_copy& copy, model::stream& target_stream, Submit&& submit) {
  const auto& [dst, src, bytes, contexts] = copy;
  if (bytes == 0) return CUDA_SUCCESS;
  // A copy in a capture accesses the memory only when the graph runs.
  const model::access_time access = access_time_of(target_stream);
  const model::copy_users users = users_of_copy(target_stream, contexts);
  memory_operand dst_memory;
  memory_operand src_memory;
  if (const CUresult error = model::resolve_operand(
          dst.address, bytes, dst.kind, model::write_access, dst_memory, access, users.dst))
    return error;
  if (const CUresult error = model::resolve_operand(
          src.address, bytes, src.kind, model::read_access, src_memory, access, users.src))
    return error;
  if (model::capture* const active_capture = target_stream.capture())
    return capture_copy(copy, *active_capture, target_stream);
  dst_memory.host_side = dst.type == CU_MEMORYTYPE_HOST;
  src_memory.host_side = src.type == CU_MEMORYTYPE_HOST;
  return submit(users, dst_memory, src_memory);
}

CUresult copy_sync(const linear_copy& copy) {
  return guarded_outside_host_functions(with_stream(nullptr, [&](model::stream& target_stream) {
    return locate_copy(
        copy, target_stream,
        [&](const model::copy_users& users, const memory_operand& dst, const memory_operand& src) {
          // Only a copy that names contexts has peer streams.
          wait_for_peer_streams(target_stream, users);
          const CUresult status = model::copy_sync(target_stream, dst, src, copy.bytes);
          make_peer_streams_wait(target_stream, users);
          return status;
        });
  }));
}

CUresult copy_async(const linear_copy& copy, CUstream stream) {
  return guarded_outside_host_functions(
      with_stream_for_work(stream, [&](model::stream& target_stream) {
        return locate_copy(
            copy, target_stream,
            [&](const model::copy_users&, const memory_operand& dst, const memory_operand& src) {
              return model::copy_async(target_stream, dst, src, copy.bytes);
            });
      }));
}

}  // namespace

CUresult cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t bytes) {
  return copy_sync({any_operand(dst), any_operand(src), bytes});
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr dst, const void* src, size_t bytes) {
  return copy_sync({device_operand(dst), host_operand(src), bytes});
}

CUresult cuMemcpyDtoH_v2(void* dst, CUdeviceptr src, size_t bytes) {
  return copy_sync({host_operand(dst), device_operand(src), bytes});
}

CUresult cuMemcpyDtoD_v2(CUdeviceptr dst, CUdeviceptr src, size_t bytes) {
  return copy_sync({device_operand(dst), device_operand(src), bytes});
}

CUresult cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream) {
  return copy_async({any_operand(dst), any_operand(src), bytes}, stream);
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr dst, const void* src, size_t bytes, CUstream stream) {
  return copy_async({device_operand(dst), host_operand(src), bytes}, stream);
}

CUresult cuMemcpyDtoHAsync_v2(void* dst, CUdeviceptr src, size_t bytes, CUstream stream) {
  return copy_async({host_operand(dst), device_operand(src), bytes}, stream);
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream) {
  return copy_async({device_operand(dst), device_operand(src), bytes}, stream);
}

CUresult cuMemcpyPeer(CUdeviceptr dst, CUcontext dst_context, CUdeviceptr src,
                      CUcontext src_context, size_t bytes) {
  const copy_contexts contexts{dst_context, src_context};
  if (const CUresult error = guarded([&] { return check_contexts(contexts); })) return error;
  return copy_sync({device_operand(dst), device_operand(src), bytes, &contexts});
}

CUresult cuMemcpyPeerAsync(CUdeviceptr dst, CUcontext dst_context, CUdeviceptr src,
                           CUcontext src_context, size_t bytes, CUstream stream) {
  const copy_contexts contexts{dst_context, src_context};
  const auto check = [&](model::stream& target_stream) {
    const CUresult status = model::check_not_capturing(target_stream);
    return status != CUDA_SUCCESS ? status : check_contexts(contexts);
  };
  if (const CUresult error = guarded_outside_host_functions(with_stream(stream, check)))
    return error;
  return copy_async({device_operand(dst), device_operand(src), bytes, &contexts}, stream);
}

}  // namespace weir::embedded::entry
