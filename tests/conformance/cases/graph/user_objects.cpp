// SPDX-License-Identifier: Apache-2.0
// cases/graph/user_objects.cpp - a user object whose destruction a case can observe.
#include "cases/graph/user_objects.hpp"

namespace weir::conformance {

void destroyed_fn(void* p) {
  auto* d = static_cast<Destroyed*>(p);
  d->id = std::this_thread::get_id();
  d->n++;
}
bool gone(Destroyed& d, int ms) {
  return wait_for([&] { return d.n.load() == 1; }, ms);
}
bool still(Destroyed& d) {
  return !wait_for([&] { return d.n.load() != 0; }, 100);
}

CUuserObject make_object(Destroyed& d, unsigned refs) {
  CUuserObject u = nullptr;
  OK(cuUserObjectCreate(&u, &d, destroyed_fn, refs, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
  return u;
}

}  // namespace weir::conformance
