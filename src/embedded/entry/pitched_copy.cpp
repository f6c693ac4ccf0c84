// entry/pitched_copy.cpp - cuMemcpy2D*, cuMemcpy3D*: boxes of bytes out of larger ones.
#include "embedded/entry/entry.hpp"
#include "embedded/entry/guard.hpp"
#include "embedded/model/transfer.hpp"

#include <optional>

namespace weir::embedded::entry {

namespace {

using model::place;
using model::place_kind;

struct extent {
  std::size_t width, height, depth;

  [[nodiscard]] bool empty() const { return width == 0 || height == 0 || depth == 0; }
};

// One side of a copy: a box in rows of `pitch` bytes and slices of `rows` rows. No pitch and no rows mean that
// there is nothing beside the box.
struct side {
  CUmemorytype type;
  const void* host;
  CUdeviceptr device;
  std::size_t x, y, z;
  std::size_t pitch, rows;
};

// A copy as all the calls describe it.
struct box_copy {
  side to, from;
  extent size;
};

box_copy describe(const CUDA_MEMCPY2D& c) {
  return {{c.dstMemoryType, c.dstHost, c.dstDevice, c.dstXInBytes, c.dstY, 0, c.dstPitch, 0},
          {c.srcMemoryType, c.srcHost, c.srcDevice, c.srcXInBytes, c.srcY, 0, c.srcPitch, 0},
          {c.WidthInBytes, c.Height, 1}};
}

// CUDA_MEMCPY3D, or the same with contexts.
template <class Copy3D>
box_copy describe(const Copy3D& c) {
  return {{c.dstMemoryType, c.dstHost, c.dstDevice, c.dstXInBytes, c.dstY, c.dstZ, c.dstPitch, c.dstHeight},
          {c.srcMemoryType, c.srcHost, c.srcDevice, c.srcXInBytes, c.srcY, c.srcZ, c.srcPitch, c.srcHeight},
          {c.WidthInBytes, c.Height, c.Depth}};
}

// a * b + c, unless that is no number of bytes.
std::optional<std::size_t> multiply_add(std::size_t a, std::size_t b, std::size_t c) {
  std::size_t out = 0;
  if (__builtin_mul_overflow(a, b, &out) || __builtin_add_overflow(out, c, &out)) return std::nullopt;
  return out;
}

// Where the box of a side lies, and how it is laid out there.
struct layout {
  place at;
  std::size_t pitch = 0, slice = 0;
};

CUresult lay_out(const side& of, const extent& size, layout& out) {
  constexpr std::size_t most_pitch = 0x7fff'ffff;  // CU_DEVICE_ATTRIBUTE_MAX_PITCH
  const bool on_host = of.type == CU_MEMORYTYPE_HOST;
  if (!on_host && of.type != CU_MEMORYTYPE_DEVICE && of.type != CU_MEMORYTYPE_UNIFIED) return CUDA_ERROR_INVALID_VALUE;
  const CUdeviceptr base = on_host ? reinterpret_cast<CUdeviceptr>(of.host) : of.device;
  if (base == 0) return CUDA_ERROR_INVALID_VALUE;

  const auto row_end = multiply_add(1, of.x, size.width);
  const auto slice_end = multiply_add(1, of.y, size.height);
  if (!row_end || !slice_end || of.pitch > most_pitch) return CUDA_ERROR_INVALID_VALUE;
  out.pitch = of.pitch != 0 ? of.pitch : *row_end;
  const std::size_t rows = of.rows != 0 ? of.rows : *slice_end;
  if (out.pitch < *row_end || (size.depth > 1 && rows < *slice_end)) return CUDA_ERROR_INVALID_VALUE;

  const auto slice = multiply_add(rows, out.pitch, 0);
  const auto offset_of_rows = multiply_add(of.y, out.pitch, of.x);
  if (!slice || !offset_of_rows) return CUDA_ERROR_INVALID_VALUE;
  out.slice = *slice;
  const auto offset = multiply_add(of.z, *slice, *offset_of_rows);
  const auto last_slice = multiply_add(size.height - 1, out.pitch, size.width);
  const auto span = last_slice ? multiply_add(size.depth - 1, *slice, *last_slice) : std::nullopt;
  if (!offset || !span) return CUDA_ERROR_INVALID_VALUE;
  const place_kind kind = of.type == CU_MEMORYTYPE_DEVICE ? place_kind::known : place_kind::any;
  return model::locate(base + *offset, *span, kind, out.at);
}

// Checks a copy and calls submit(to, from, work). An empty box is copied from anywhere to anywhere.
template <class Submit>
CUresult submit_copy(const box_copy& copy, Submit&& submit) {
  if (copy.size.empty()) return CUDA_SUCCESS;
  layout to;
  layout from;
  if (const CUresult status = lay_out(copy.from, copy.size, from); status != CUDA_SUCCESS) return status;
  if (const CUresult status = lay_out(copy.to, copy.size, to); status != CUDA_SUCCESS) return status;
  return submit(to.at, from.at,
                model::pitched_copy_work{to.at.at, from.at.at, copy.size.width, copy.size.height, copy.size.depth, to.pitch,
                                         from.pitch, to.slice, from.slice});
}

template <class Description>
CUresult copy_now(const Description* description) {
  return guarded_outside_host_functions([&](model::process& p) -> CUresult {
    if (description == nullptr) return CUDA_ERROR_INVALID_VALUE;
    model::stream* in = nullptr;
    if (const CUresult status = find_null_stream(p, in); status != CUDA_SUCCESS) return status;
    return submit_copy(describe(*description), [&](const place& to, const place& from, const auto& work) {
      return model::copy_now(*in, to, from, work);
    });
  });
}

template <class Description>
CUresult copy_in_order(const Description* description, CUstream stream) {
  return guarded_outside_host_functions([&](model::process& p) -> CUresult {
    if (description == nullptr) return CUDA_ERROR_INVALID_VALUE;
    model::stream* in = nullptr;
    if (const CUresult status = find_stream(p, stream, in); status != CUDA_SUCCESS) return status;
    return submit_copy(describe(*description), [&](const place& to, const place& from, const auto& work) {
      return model::copy_in_order(*in, to, from, work);
    });
  });
}

}  // namespace

CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D* copy) { return copy_now(copy); }
CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D* copy) { return copy_now(copy); }
CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D* copy, CUstream stream) { return copy_in_order(copy, stream); }
CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D* copy) { return copy_now(copy); }
CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D* copy, CUstream stream) { return copy_in_order(copy, stream); }
CUresult cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER* copy) { return copy_now(copy); }
CUresult cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER* copy, CUstream stream) { return copy_in_order(copy, stream); }

}  // namespace weir::embedded::entry
