// SPDX-License-Identifier: Apache-2.0
// driver/abi/stream_structs.hpp - the parameters of streams, contexts and host functions.
#pragma once

#include "driver/abi/enums.hpp"
#include "driver/abi/scalars.hpp"

namespace weir::abi {

// Functions that the driver calls on a thread of its own.
using CUhostFn = void (*)(void* userData);
using CUstreamCallback = void (*)(CUstream hStream, CUresult status, void* userData);

// An operation of cuStreamBatchMemOp. Every member begins with `operation`, which selects the
// member.
union CUstreamBatchMemOpParams {
  struct wait_value {
    CUstreamBatchMemOpType operation;
    CUdeviceptr address;
    union {
      cuuint32_t value;
      cuuint64_t value64;
    };
    unsigned flags;
    CUdeviceptr alias;
  };
  using write_value = wait_value;
  struct flagged {
    CUstreamBatchMemOpType operation;
    unsigned flags;
  };

  CUstreamBatchMemOpType operation;
  wait_value waitValue;
  write_value writeValue;
  flagged flushRemoteWrites;
  flagged memoryBarrier;
  cuuint64_t pad[6];
};

// The result of cuDeviceGetProperties.
struct CUdevprop {
  int maxThreadsPerBlock;
  int maxThreadsDim[3];
  int maxGridSize[3];
  int sharedMemPerBlock;
  int totalConstantMemory;
  int SIMDWidth;
  int memPitch;
  int regsPerBlock;
  int clockRate;
  int textureAlign;
};

// Optional parameters of cuCtxCreate_v4. Null is the usual argument.
struct CUexecAffinitySmCount {
  unsigned val;
};

struct CUexecAffinityParam {
  CUexecAffinityType type;
  union {
    CUexecAffinitySmCount smCount;
  } param;
};

struct CUctxCigParam {
  CUcigDataType sharedDataType;
  void* sharedData;
};

struct CUctxCreateParams {
  CUexecAffinityParam* execAffinityParams;
  int numExecAffinityParams;
  CUctxCigParam* cigParams;
};

}  // namespace weir::abi
