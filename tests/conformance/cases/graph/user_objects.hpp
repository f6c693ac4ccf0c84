// cases/user_objects.hpp - a user object whose destruction a case can see.
#pragma once

#include "probe/probe.hpp"

#include <atomic>
#include <thread>

namespace weir::conformance {

struct Destroyed {
  std::atomic<int> n{0};  // how often
  std::thread::id id;     // by which thread
};

void destroyed_fn(void* destroyed);

// Has the object been destroyed once, within ms? Is it still there after a tenth of a second?
bool gone(Destroyed& d, int ms = 2000);
bool still(Destroyed& d);

CUuserObject make_object(Destroyed& d, unsigned refs = 1);

}  // namespace weir::conformance
