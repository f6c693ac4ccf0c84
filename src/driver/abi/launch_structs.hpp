// SPDX-License-Identifier: Apache-2.0
// driver/abi/launch_structs.hpp - kernel launches and their attributes.
#pragma once

#include "driver/abi/enums.hpp"
#include "driver/abi/scalars.hpp"

namespace weir::abi {

struct CUaccessPolicyWindow {
  void* base_ptr;
  size_t num_bytes;
  float hitRatio;
  CUaccessProperty hitProp, missProp;
};

struct CUlaunchMemSyncDomainMap {
  unsigned char default_, remote;
};

// The value of an attribute. CUlaunchAttributeID selects the member.
union CUlaunchAttributeValue {
  struct extent {
    unsigned x, y, z;
  };
  struct programmatic_event {
    CUevent event;
    int flags, triggerAtBlockStart;
  };
  struct completion_event {
    CUevent event;
    int flags;
  };
  struct updatable_node {
    int deviceUpdatable;
    CUgraphDeviceNode devNode;
  };

  char pad[64];
  CUaccessPolicyWindow accessPolicyWindow;
  int cooperative;
  CUsynchronizationPolicy syncPolicy;
  extent clusterDim;
  CUclusterSchedulingPolicy clusterSchedulingPolicyPreference;
  int programmaticStreamSerializationAllowed;
  programmatic_event programmaticEvent;
  completion_event launchCompletionEvent;
  int priority;
  CUlaunchMemSyncDomainMap memSyncDomainMap;
  CUlaunchMemSyncDomain memSyncDomain;
  extent preferredClusterDim;
  updatable_node deviceUpdatableKernelNode;
  unsigned sharedMemCarveout, nvlinkUtilCentricScheduling;
};

using CUstreamAttrValue = CUlaunchAttributeValue;
using CUkernelNodeAttrValue = CUlaunchAttributeValue;

// Returns how many bytes of dynamic shared memory a block of `threads` threads needs.
using CUoccupancyB2DSize = size_t (*)(int threads);

struct CUlaunchAttribute {
  CUlaunchAttributeID id;
  char pad[8 - sizeof(CUlaunchAttributeID)];
  CUlaunchAttributeValue value;
};

struct CUlaunchConfig {
  unsigned gridDimX, gridDimY, gridDimZ;
  unsigned blockDimX, blockDimY, blockDimZ;
  unsigned sharedMemBytes;
  CUstream hStream;
  CUlaunchAttribute* attrs;
  unsigned numAttrs;
};

}  // namespace weir::abi
