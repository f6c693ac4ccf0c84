// SPDX-License-Identifier: Apache-2.0
// cases/kernel/launches.cpp - launches with every launch parameter.
#include "cases/kernel/launches.hpp"

#include <cstring>
#include <tuple>

namespace weir::conformance {

CUfunction launched_kernel(const char* name) {
  static const CUmodule module = [] {
    CUmodule m = nullptr;
    OK(cuModuleLoadData(&m, asked_module()));
    return m;
  }();
  CUfunction f = nullptr;
  OK(cuModuleGetFunction(&f, module, name));
  return f;
}

CUlaunchAttribute launch_attribute(CUlaunchAttributeID id) {
  CUlaunchAttribute a;
  std::memset(&a, 0, sizeof a);
  a.id = id;
  return a;
}

CUlaunchAttribute priority_of(int p) {
  return launch_attribute(CU_LAUNCH_ATTRIBUTE_PRIORITY, [&](auto& v) { v.priority = p; });
}

CUlaunchAttribute policy_of(CUsynchronizationPolicy p) {
  return launch_attribute(CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY,
                          [&](auto& v) { v.syncPolicy = p; });
}

CUlaunchAttribute done_event(CUevent e, int flags, int at_start) {
  return launch_attribute(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT, [&](auto& v) {
    v.programmaticEvent = {e, flags, at_start};
  });
}

CUlaunchAttribute started_event(CUevent e, int flags) {
  return launch_attribute(CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT, [&](auto& v) {
    v.launchCompletionEvent = {e, flags};
  });
}

CUlaunchAttribute serial(int allowed) {
  return launch_attribute(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
                          [&](auto& v) { v.programmaticStreamSerializationAllowed = allowed; });
}

CUlaunchAttribute updatable(int value) {
  return launch_attribute(CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE, [&](auto& v) {
    v.deviceUpdatableKernelNode = {value, nullptr};
  });
}

CUlaunchAttribute cluster_of(unsigned x, unsigned y, unsigned z) {
  return launch_attribute(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, [&](auto& v) {
    v.clusterDim = {x, y, z};
  });
}

CUlaunchAttribute cooperative(int value) {
  return launch_attribute(CU_LAUNCH_ATTRIBUTE_COOPERATIVE, [&](auto& v) { v.cooperative = value; });
}

CUresult Launch::run(CUfunction f, void** args) const {
  std::vector<CUlaunchAttribute> attrs = attributes;
  CUlaunchConfig config;
  std::memset(&config, 0, sizeof config);
  std::tie(config.gridDimX, config.gridDimY, config.gridDimZ) = std::tie(grid[0], grid[1], grid[2]);
  std::tie(config.blockDimX, config.blockDimY, config.blockDimZ) =
      std::tie(block[0], block[1], block[2]);
  config.sharedMemBytes = shared;
  config.hStream = stream;
  config.attrs = attrs.empty() ? nullptr : attrs.data();
  config.numAttrs = static_cast<unsigned>(attrs.size());
  return cuLaunchKernelEx(&config, f, args, nullptr);
}

}  // namespace weir::conformance
