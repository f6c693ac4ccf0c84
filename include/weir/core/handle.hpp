// weir/core/handle.hpp - the driver's handles, declared but not defined.
#pragma once

// The driver's own types, at global scope as in <cuda.h> and <cuda_runtime_api.h>: `CUstream_st*`
// is CUstream and cudaStream_t. weir takes and gives these, so that its objects go into every other
// CUDA interface, and its headers need no CUDA header. Nothing ever defines them; a handle is
// compared, passed on and never looked into.
struct CUctx_st;                       // CUcontext
struct CUstream_st;                    // CUstream, cudaStream_t
struct CUevent_st;                     // CUevent, cudaEvent_t
struct CUmemPoolHandle_st;             // CUmemoryPool, cudaMemPool_t
struct CUgraph_st;                     // CUgraph, cudaGraph_t
struct CUgraphNode_st;                 // CUgraphNode, cudaGraphNode_t
struct CUgraphExec_st;                 // CUgraphExec, cudaGraphExec_t
struct CUuserObject_st;                // CUuserObject, cudaUserObject_t
struct CUmod_st;                       // CUmodule
struct CUfunc_st;                      // CUfunction, cudaFunction_t
struct CUlib_st;                       // CUlibrary, cudaLibrary_t
struct CUkern_st;                      // CUkernel, cudaKernel_t
struct CUarray_st;                     // CUarray
struct CUmipmappedArray_st;            // CUmipmappedArray
struct CUgreenCtx_st;                  // CUgreenCtx
struct CUextMemory_st;                 // CUexternalMemory, cudaExternalMemory_t
struct CUdevResourceDesc_st;           // CUdevResourceDesc
struct CUextSemaphore_st;              // CUexternalSemaphore
struct CUgraphDeviceUpdatableNode_st;  // CUgraphDeviceNode
