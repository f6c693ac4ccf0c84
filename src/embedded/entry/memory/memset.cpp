// SPDX-License-Identifier: Apache-2.0
// embedded/entry/memory/memset.cpp - cuMemsetD*: fills memory with a value of 1, 2 or 4 bytes.
#include "embedded/entry/entry.hpp"
#include "embedded/entry/guard.hpp"
#include "embedded/model/stream/transfer.hpp"

namespace weir::embedded::entry {

namespace {

// The memory that a memset writes: `height` rows of `width` elements, `pitch` bytes apart. The
// pitch of a single row is ignored.
struct rows {
  std::size_t pitch, width, height;
};

// Checks a memset, finds its memory and calls submit(dst, work). If there are no elements to set,
// returns CUDA_SUCCESS for any address and calls nothing. In a capture it accepts any memory, as an
// H200 does; a graph with a memset of unknown memory cannot be instantiated.
template <class Element, class Submit>
CUresult set_rows(CUdeviceptr address, Element value, const rows& shape,
                  const model::stream& target_stream, Submit&& submit) {
  if (shape.width == 0 || shape.height == 0) return CUDA_SUCCESS;
  std::size_t row = 0;
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(shape.width, sizeof(Element), &row)) return CUDA_ERROR_INVALID_VALUE;
  if (shape.height > 1) {
    if (shape.pitch < row || shape.pitch % sizeof(Element) != 0) return CUDA_ERROR_INVALID_VALUE;
    if (__builtin_mul_overflow(shape.pitch, shape.height - 1, &bytes))
      return CUDA_ERROR_INVALID_VALUE;
  }
  if (address % sizeof(Element) != 0 || __builtin_add_overflow(bytes, row, &bytes))
    return CUDA_ERROR_INVALID_VALUE;
  model::memory_operand dst{reinterpret_cast<std::byte*>(address), nullptr};
  if (target_stream.capture() == nullptr) {
    const CUresult status =
        model::resolve_operand(address, bytes, model::operand_kind::known, model::write_access, dst,
                               model::access_time::now, memory_user_for(target_stream));
    if (status != CUDA_SUCCESS) return status;
  }
  return submit(dst, model::memset_work{dst.data, shape.pitch, shape.width, shape.height, value,
                                        sizeof(Element)});
}

// Sets memory in stream order. A host function may call such an entry point with a stream that the
// program created.
template <class Element>
CUresult memset_async(CUdeviceptr address, Element value, const rows& shape, CUstream stream) {
  return guarded(with_stream_for_work(stream, [&](model::stream& target_stream) {
    return set_rows(address, value, shape, target_stream,
                    [&](const model::memory_operand&, const model::memset_work& work) {
                      return target_stream.submit(work);
                    });
  }));
}

template <class Element>
CUresult memset_sync(CUdeviceptr address, Element value, const rows& shape) {
  return guarded_outside_host_functions(with_stream(nullptr, [&](model::stream& target_stream) {
    return set_rows(address, value, shape, target_stream,
                    [&](const model::memory_operand& dst, const model::memset_work& work) {
                      return model::memset_sync(target_stream, dst, work);
                    });
  }));
}

}  // namespace

CUresult cuMemsetD8_v2(CUdeviceptr dst, unsigned char value, size_t count) {
  return memset_sync(dst, value, {0, count, 1});
}
CUresult cuMemsetD16_v2(CUdeviceptr dst, unsigned short value, size_t count) {
  return memset_sync(dst, value, {0, count, 1});
}
CUresult cuMemsetD32_v2(CUdeviceptr dst, unsigned value, size_t count) {
  return memset_sync(dst, value, {0, count, 1});
}

CUresult cuMemsetD8Async(CUdeviceptr dst, unsigned char value, size_t count, CUstream stream) {
  return memset_async(dst, value, {0, count, 1}, stream);
}
CUresult cuMemsetD16Async(CUdeviceptr dst, unsigned short value, size_t count, CUstream stream) {
  return memset_async(dst, value, {0, count, 1}, stream);
}
CUresult cuMemsetD32Async(CUdeviceptr dst, unsigned value, size_t count, CUstream stream) {
  return memset_async(dst, value, {0, count, 1}, stream);
}

CUresult cuMemsetD2D8_v2(CUdeviceptr dst, size_t pitch, unsigned char value, size_t width,
                         size_t height) {
  return memset_sync(dst, value, {pitch, width, height});
}
CUresult cuMemsetD2D16_v2(CUdeviceptr dst, size_t pitch, unsigned short value, size_t width,
                          size_t height) {
  return memset_sync(dst, value, {pitch, width, height});
}
CUresult cuMemsetD2D32_v2(CUdeviceptr dst, size_t pitch, unsigned value, size_t width,
                          size_t height) {
  return memset_sync(dst, value, {pitch, width, height});
}

CUresult cuMemsetD2D8Async(CUdeviceptr dst, size_t pitch, unsigned char value, size_t width,
                           size_t height, CUstream stream) {
  return memset_async(dst, value, {pitch, width, height}, stream);
}
CUresult cuMemsetD2D16Async(CUdeviceptr dst, size_t pitch, unsigned short value, size_t width,
                            size_t height, CUstream stream) {
  return memset_async(dst, value, {pitch, width, height}, stream);
}
CUresult cuMemsetD2D32Async(CUdeviceptr dst, size_t pitch, unsigned value, size_t width,
                            size_t height, CUstream stream) {
  return memset_async(dst, value, {pitch, width, height}, stream);
}

}  // namespace weir::embedded::entry
