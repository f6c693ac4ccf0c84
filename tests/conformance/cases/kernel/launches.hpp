// SPDX-License-Identifier: Apache-2.0
// cases/kernel/launches.hpp - launches with every launch parameter.
#pragma once

#include "cases/kernel/modules.hpp"

#include <array>
#include <vector>

namespace weir::conformance {

// Returns a kernel of the module that this process keeps for such cases (asked_module()).
CUfunction launched_kernel(const char* name);

CUlaunchAttribute launch_attribute(CUlaunchAttributeID id);

// Returns an attribute with a value, which `set` writes.
template <class Set>
CUlaunchAttribute launch_attribute(CUlaunchAttributeID id, Set set) {
  CUlaunchAttribute a = launch_attribute(id);
  set(a.value);
  return a;
}

CUlaunchAttribute priority_of(int priority);
CUlaunchAttribute policy_of(CUsynchronizationPolicy policy);
CUlaunchAttribute cluster_of(unsigned x, unsigned y = 1, unsigned z = 1);
CUlaunchAttribute cooperative(int value);
CUlaunchAttribute done_event(CUevent event, int flags = 0, int at_start = 0);
CUlaunchAttribute started_event(CUevent event, int flags = 0);
CUlaunchAttribute serial(int allowed);
CUlaunchAttribute updatable(int value);

// A launch; by default one block of one thread on the legacy stream.
struct Launch {
  std::array<unsigned, 3> grid{1, 1, 1};
  std::array<unsigned, 3> block{1, 1, 1};
  unsigned shared = 0;
  CUstream stream = nullptr;
  std::vector<CUlaunchAttribute> attributes{};

  CUresult run(CUfunction f, void** args = nullptr) const;
};

}  // namespace weir::conformance
