// entry/stream_attribute.cpp - cuStreamGetAttribute, cuStreamSetAttribute, cuStreamCopyAttributes.
#include "embedded/entry/entry.hpp"
#include "embedded/entry/guard.hpp"
#include "embedded/model/stream/stream_attributes.hpp"

namespace weir::embedded::entry {

CUresult cuStreamGetAttribute(CUstream stream, CUstreamAttrID attribute, CUstreamAttrValue* value) {
  return guarded([&](model::process& p) -> CUresult {
    model::stream* found = nullptr;
    if (const CUresult status = find_stream(p, stream, found); status != CUDA_SUCCESS)
      return status;
    return value == nullptr ? CUDA_ERROR_INVALID_VALUE
                            : model::get_attribute(*found, attribute, *value);
  });
}

CUresult cuStreamSetAttribute(CUstream stream, CUstreamAttrID attribute,
                              const CUstreamAttrValue* value) {
  return guarded([&](model::process& p) -> CUresult {
    model::stream* found = nullptr;
    if (const CUresult status = find_stream(p, stream, found); status != CUDA_SUCCESS)
      return status;
    return value == nullptr ? CUDA_ERROR_INVALID_VALUE
                            : model::set_attribute(*found, attribute, *value);
  });
}

CUresult cuStreamCopyAttributes(CUstream dst, CUstream src) {
  return guarded([&](model::process& p) -> CUresult {
    model::stream* to = nullptr;
    if (const CUresult status = find_stream(p, dst, to); status != CUDA_SUCCESS) return status;
    model::stream* from = nullptr;
    if (const CUresult status = find_stream(p, src, from); status != CUDA_SUCCESS) return status;
    return model::copy_attributes(*to, *from);
  });
}

}  // namespace weir::embedded::entry
