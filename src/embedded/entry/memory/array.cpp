// SPDX-License-Identifier: Apache-2.0
// embedded/entry/memory/array.cpp - cuArray*: memory that is addressed by element.
#include "embedded/model/memory/array.hpp"

#include "embedded/entry/entry.hpp"
#include "embedded/entry/guard.hpp"

namespace weir::embedded::entry {

namespace {

// Calls write(descriptor) for an array. A null `out` is an error. Needs no current context.
template <class Write>
CUresult describe(CUarray array, const void* out, Write&& write) {
  return guarded_outside_host_functions([&] {
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const model::array* const found = model::arrays::find(array);
    if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    write(found->descriptor);
    return CUDA_SUCCESS;
  });
}

}  // namespace

CUresult cuArrayCreate_v2(CUarray* handle, const CUDA_ARRAY_DESCRIPTOR* descriptor) {
  if (descriptor == nullptr) return cuArray3DCreate_v2(handle, nullptr);
  const CUDA_ARRAY3D_DESCRIPTOR requested{.Width = descriptor->Width,
                                          .Height = descriptor->Height,
                                          .Depth = 0,
                                          .Format = descriptor->Format,
                                          .NumChannels = descriptor->NumChannels,
                                          .Flags = 0};
  return cuArray3DCreate_v2(handle, &requested);
}

CUresult cuArray3DCreate_v2(CUarray* handle, const CUDA_ARRAY3D_DESCRIPTOR* descriptor) {
  return guarded_in_context_outside_captures([&](model::context& context) {
    if (handle == nullptr || descriptor == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return model::arrays::create(context.base(), *descriptor, handle);
  });
}

CUresult cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR* descriptor, CUarray array) {
  return describe(array, descriptor, [&](const CUDA_ARRAY3D_DESCRIPTOR& array_descriptor) {
    *descriptor = {array_descriptor.Width, array_descriptor.Height, array_descriptor.Format,
                   array_descriptor.NumChannels};
  });
}

CUresult cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR* descriptor, CUarray array) {
  return describe(array, descriptor, [&](const CUDA_ARRAY3D_DESCRIPTOR& array_descriptor) {
    *descriptor = array_descriptor;
  });
}

CUresult cuArrayDestroy(CUarray array) {
  return guarded_outside_host_functions([&] {
    if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    const CUresult status = model::check_unsafe_call();
    return status == CUDA_SUCCESS ? model::arrays::destroy(array) : status;
  });
}

}  // namespace weir::embedded::entry
