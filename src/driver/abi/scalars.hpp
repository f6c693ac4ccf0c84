// SPDX-License-Identifier: Apache-2.0
// driver/abi/scalars.hpp - the driver API's handles and scalar types.
#pragma once

#include <weir/core/handle.hpp>

#include <cstddef>
#include <cstdint>

// The calling convention of functions that the driver calls; empty on Linux.
#define CUDA_CB

namespace weir::abi {

using std::size_t;

using cuuint32_t = std::uint32_t;
using cuuint64_t = std::uint64_t;

using CUdevice = int;
// An address in device memory. It is an integer because the host must not dereference it.
using CUdeviceptr = unsigned long long;
using CUmemGenericAllocationHandle = unsigned long long;
using CUgraphConditionalHandle = cuuint64_t;

using CUcontext = ::CUctx_st*;
using CUstream = ::CUstream_st*;
using CUevent = ::CUevent_st*;
using CUmemoryPool = ::CUmemPoolHandle_st*;
using CUgraph = ::CUgraph_st*;
using CUgraphNode = ::CUgraphNode_st*;
using CUgraphExec = ::CUgraphExec_st*;
using CUuserObject = ::CUuserObject_st*;
using CUmodule = ::CUmod_st*;
using CUfunction = ::CUfunc_st*;
using CUlibrary = ::CUlib_st*;
using CUkernel = ::CUkern_st*;
using CUarray = ::CUarray_st*;
using CUmipmappedArray = ::CUmipmappedArray_st*;
using CUgreenCtx = ::CUgreenCtx_st*;
using CUexternalMemory = ::CUextMemory_st*;
using CUdevResourceDesc = ::CUdevResourceDesc_st*;
using CUexternalSemaphore = ::CUextSemaphore_st*;
using CUgraphDeviceNode = ::CUgraphDeviceUpdatableNode_st*;

struct CUuuid {
  char bytes[16];
};

struct CUipcEventHandle {
  char reserved[64];
};

struct CUipcMemHandle {
  char reserved[64];
};

}  // namespace weir::abi
