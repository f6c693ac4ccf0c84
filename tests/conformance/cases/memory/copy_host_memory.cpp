// SPDX-License-Identifier: Apache-2.0
// cases/memory/copy_host_memory.cpp - asynchronous copies of host memory in a held stream: whether
// the call blocks, when it reads the source, and whether the target is written when it returns.
#include "probe/probe.hpp"

#include <cstring>
#include <functional>
#include <string>

namespace weir::conformance {
namespace {

constexpr size_t kSmall = 64;
constexpr size_t kLarge = 128u << 10;  // more than a batch stages

// Managed memory, freed at the end of a case.
class ManagedBlock {
 public:
  unsigned char* p = nullptr;
  ManagedBlock() {
    CUdeviceptr made = 0;
    OK(cuMemAllocManaged(&made, kLarge, CU_MEM_ATTACH_GLOBAL));
    p = reinterpret_cast<unsigned char*>(made);
  }
  ManagedBlock(const ManagedBlock&) = delete;
  ManagedBlock& operator=(const ManagedBlock&) = delete;
  ~ManagedBlock() { cuMemFree(as_address(p)); }
};

// Copies `bytes` bytes in a stream.
using Copy = std::function<CUresult(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream s)>;

// Records whether the copy from host memory blocks, and which value of the source it copies: 1, as
// at the call, or 2, as it was changed to while the stream was held.
void rec_source(Rec& r, const std::string& key, CUdeviceptr dst, unsigned char* src, size_t bytes,
                const Copy& copy) {
  Stream s(NB);
  memset(src, 1, bytes);
  ValueGate v;
  v.arm(s);
  const auto release = [&] {
    memset(src, 2, bytes);
    v.open();
  };
  const BlockingResult result =
      blocking(release, [&] { return copy(dst, as_address(src), bytes, s); });
  record_blocking(r, key, result);
  if (!result.blocked) release();
  OK(cuStreamSynchronize(s));
  unsigned char copied = 0;
  OK(cuMemcpy(as_address(&copied), dst + bytes - 1, 1));
  r.k(key + ".copied", copied);
}

// Records whether the copy to host memory blocks, and whether the data is there at its return.
void rec_target(Rec& r, const std::string& key, unsigned char* dst, const Copy& copy) {
  Stream s(NB);
  memset(dst, 0, kSmall);
  OK(cuMemsetD8(g.dbuf, 3, kSmall));
  OK(cuCtxSynchronize());
  ValueGate v;
  v.arm(s);
  record_blocking(
      r, key,
      blocking([&] { v.open(); }, [&] { return copy(as_address(dst), g.dbuf, kSmall, s); }));
  r.k(key + ".arrived", dst[0] == 3);
  v.open();
  OK(cuStreamSynchronize(s));
}

void rec_device_sides(Rec& r, const Copy& in, const Copy& out) {
  const ManagedBlock managed;
  rec_source(r, "pageable_in", g.dbuf, g.page, kSmall, in);
  rec_source(r, "pinned_in", g.dbuf, g.pin, kSmall, in);
  rec_source(r, "managed_in", g.dbuf, managed.p, kSmall, in);
  rec_target(r, "pageable_out", g.page, out);
  rec_target(r, "pinned_out", g.pin, out);
  rec_target(r, "managed_out", managed.p, out);
}

void rec_host_sides(Rec& r, const Copy& copy) {
  rec_source(r, "pageable_pinned", as_address(g.pin), g.page, kSmall, copy);
  rec_source(r, "pinned_pageable", as_address(g.page), g.pin, kSmall, copy);
  rec_source(r, "pinned_pinned", as_address(g.pin + kLarge), g.pin, kSmall, copy);
}

CUresult copy_batch(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream s,
                    CUmemcpySrcAccessOrder order) {
  CUmemcpyAttributes attributes{};
  attributes.srcAccessOrder = order;
  size_t first = 0;
  return cuMemcpyBatchAsync(&dst, &src, &bytes, 1, &attributes, &first, 1, s);
}

// Copies two rows. The host side is host memory by its type.
CUresult copy_rows(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream s, bool to_device) {
  CUDA_MEMCPY2D rows{};
  rows.srcMemoryType = to_device ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
  rows.dstMemoryType = to_device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
  rows.srcHost = reinterpret_cast<const void*>(src);
  rows.dstHost = reinterpret_cast<void*>(dst);
  rows.srcDevice = src;
  rows.dstDevice = dst;
  rows.WidthInBytes = bytes / 2;
  rows.Height = 2;
  return cuMemcpy2DAsync(&rows, s);
}

}  // namespace

void copy_host_memory_cases() {
  add("copy.host_memory.by_direction", [](Rec& r) {
    const Copy in = [](CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream s) {
      return cuMemcpyHtoDAsync(dst, reinterpret_cast<const void*>(src), bytes, s);
    };
    const Copy out = [](CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream s) {
      return cuMemcpyDtoHAsync(reinterpret_cast<void*>(dst), src, bytes, s);
    };
    rec_device_sides(r, in, out);
  });
  add("copy.host_memory.by_address", [](Rec& r) {
    const Copy copy = [](CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream s) {
      return cuMemcpyAsync(dst, src, bytes, s);
    };
    rec_device_sides(r, copy, copy);
    rec_host_sides(r, copy);
    rec_source(r, "pageable_in_2m", g.dbuf, g.page, 2u << 20, copy);
    rec_source(r, "pageable_in_over_2m", g.dbuf, g.page, (2u << 20) + 8, copy);
  });
  add("copy.host_memory.rows", [](Rec& r) {
    const Copy in = [](CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream s) {
      return copy_rows(dst, src, bytes, s, true);
    };
    const Copy out = [](CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream s) {
      return copy_rows(dst, src, bytes, s, false);
    };
    rec_device_sides(r, in, out);
  });
  const struct {
    const char* name;
    CUmemcpySrcAccessOrder order;
  } orders[] = {{"stream", CU_MEMCPY_SRC_ACCESS_ORDER_STREAM},
                {"during_call", CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL},
                {"any", CU_MEMCPY_SRC_ACCESS_ORDER_ANY}};
  for (const auto& each : orders) {
    const CUmemcpySrcAccessOrder order = each.order;
    add(std::string("copy.host_memory.batch_") + each.name, [order](Rec& r) {
      const Copy copy = [order](CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream s) {
        return copy_batch(dst, src, bytes, s, order);
      };
      rec_device_sides(r, copy, copy);
      rec_host_sides(r, copy);
      // An H200 reads a large source after the call that promises to have read it.
      if (order != CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL)
        rec_source(r, "large_pageable_in", g.dbuf, g.page, kLarge, copy);
    });
  }
}

}  // namespace weir::conformance
