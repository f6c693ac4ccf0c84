// SPDX-License-Identifier: Apache-2.0
// cases/ipc/opened_event.hpp - an event of another process, opened by a case.
#pragma once

#include "cases/ipc/ipc_peers.hpp"

#include <string>

namespace weir::conformance {

inline const std::string kMakeEvent = "make_event " + std::to_string(SHARED_EVENT);

// An event that the other process created, opened here in the current context.
class Opened {
 public:
  CUevent e = nullptr;
  explicit Opened(const CUipcEventHandle& h) { OK(cuIpcOpenEventHandle(&e, h)); }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;
  ~Opened() {
    if (e) cuEventDestroy(e);
  }
  operator CUevent() const { return e; }
  CUresult destroy() {
    const CUevent was = e;
    e = nullptr;
    return cuEventDestroy(was);
  }
};

}  // namespace weir::conformance
