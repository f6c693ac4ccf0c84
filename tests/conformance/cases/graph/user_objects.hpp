// SPDX-License-Identifier: Apache-2.0
// cases/graph/user_objects.hpp - a user object whose destruction a case can observe.
#pragma once

#include "probe/probe.hpp"

#include <atomic>
#include <thread>

namespace weir::conformance {

struct Destroyed {
  std::atomic<int> n{0};  // the number of destructions
  std::thread::id id;     // the thread that destroyed it
};

void destroyed_fn(void* destroyed);

// gone() returns true if the object was destroyed exactly once within ms. still() returns true if
// it exists after 0.1 s.
bool gone(Destroyed& d, int ms = 2000);
bool still(Destroyed& d);

CUuserObject make_object(Destroyed& d, unsigned refs = 1);

}  // namespace weir::conformance
