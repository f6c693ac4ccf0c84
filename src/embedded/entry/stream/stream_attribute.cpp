// SPDX-License-Identifier: Apache-2.0
// embedded/entry/stream/stream_attribute.cpp - cuStreamGetAttribute, cuStreamSetAttribute,
// cuStreamCopyAttributes.
#include "embedded/entry/entry.hpp"
#include "embedded/entry/guard.hpp"
#include "embedded/model/stream/stream_attributes.hpp"

namespace weir::embedded::entry {

CUresult cuStreamGetAttribute(CUstream stream, CUstreamAttrID attribute, CUstreamAttrValue* value) {
  return guarded(with_stream(stream, [&](model::stream& found) {
    return value == nullptr ? CUDA_ERROR_INVALID_VALUE
                            : model::get_attribute(found, attribute, *value);
  }));
}

CUresult cuStreamSetAttribute(CUstream stream, CUstreamAttrID attribute,
                              const CUstreamAttrValue* value) {
  return guarded(with_stream(stream, [&](model::stream& found) {
    return value == nullptr ? CUDA_ERROR_INVALID_VALUE
                            : model::set_attribute(found, attribute, *value);
  }));
}

CUresult cuStreamCopyAttributes(CUstream dst, CUstream src) {
  return guarded(with_stream(dst, [&](model::stream& target_stream) {
    model::process& p = model::this_process();
    model::stream* source_stream = nullptr;
    if (const CUresult error = find_stream(p, src, source_stream)) return error;
    return model::copy_attributes(target_stream, *source_stream);
  }));
}

}  // namespace weir::embedded::entry
