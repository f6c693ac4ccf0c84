// cases/launches.hpp - launches with all that can be said about one.
#pragma once

#include "cases/kernel/modules.hpp"

#include <array>
#include <vector>

namespace weir::conformance {

// A kernel of the module that this process keeps for such cases (asked_module()).
CUfunction launched_kernel(const char* name);

CUlaunchAttribute launch_attribute(CUlaunchAttributeID id);

// The same with a value: `set` writes into it.
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

// A launch; one block of one thread on the legacy stream, unless said otherwise.
struct Launch {
  std::array<unsigned, 3> grid{1, 1, 1};
  std::array<unsigned, 3> block{1, 1, 1};
  unsigned shared = 0;
  CUstream stream = nullptr;
  std::vector<CUlaunchAttribute> attributes{};

  CUresult run(CUfunction f, void** args = nullptr) const;
};

}  // namespace weir::conformance
