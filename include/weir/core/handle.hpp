// SPDX-License-Identifier: Apache-2.0
// weir/core/handle.hpp - declarations of the driver's handle types.
#pragma once

/// The driver's handle types, declared at global scope as in <cuda.h> and <cuda_runtime_api.h>:
/// `CUstream_st*` is CUstream and cudaStream_t. weir takes and returns these types, so its objects
/// work with every other CUDA interface and its headers need no CUDA header. The types are never
/// defined; a handle is compared and passed on, never dereferenced.
struct CUctx_st;                       ///< CUcontext
struct CUstream_st;                    ///< CUstream, cudaStream_t
struct CUevent_st;                     ///< CUevent, cudaEvent_t
struct CUmemPoolHandle_st;             ///< CUmemoryPool, cudaMemPool_t
struct CUgraph_st;                     ///< CUgraph, cudaGraph_t
struct CUgraphNode_st;                 ///< CUgraphNode, cudaGraphNode_t
struct CUgraphExec_st;                 ///< CUgraphExec, cudaGraphExec_t
struct CUuserObject_st;                ///< CUuserObject, cudaUserObject_t
struct CUmod_st;                       ///< CUmodule
struct CUfunc_st;                      ///< CUfunction, cudaFunction_t
struct CUlib_st;                       ///< CUlibrary, cudaLibrary_t
struct CUkern_st;                      ///< CUkernel, cudaKernel_t
struct CUarray_st;                     ///< CUarray
struct CUmipmappedArray_st;            ///< CUmipmappedArray
struct CUgreenCtx_st;                  ///< CUgreenCtx
struct CUextMemory_st;                 ///< CUexternalMemory, cudaExternalMemory_t
struct CUdevResourceDesc_st;           ///< CUdevResourceDesc
struct CUextSemaphore_st;              ///< CUexternalSemaphore
struct CUgraphDeviceUpdatableNode_st;  ///< CUgraphDeviceNode
