// SPDX-License-Identifier: Apache-2.0
// model/core/user_object.hpp - reference-counted objects of the program that graphs keep alive.
#pragma once

#include <cstddef>
#include <unordered_map>
#include <utility>

#include "driver/abi.hpp"

namespace weir::embedded::model {

// A user object. Objects are reused (handle_table.hpp). The program's destructor runs once, after
// the last reference is released, on the host function thread, where most driver calls are not
// permitted.
//
// Thread safety: the functions below may be called from any thread, also before the driver is
// initialised.
struct user_object {
  void* data = nullptr;
  abi::CUhostFn destructor = nullptr;
  std::size_t references = 0;  // guarded by references_lock in user_object.cpp
  // Links unreferenced objects whose destructors could not be queued because memory ran out.
  user_object* next = nullptr;
};

// Creates an object and returns its handle. Throws std::bad_alloc.
abi::CUuserObject make_user_object(void* data, abi::CUhostFn destructor, std::size_t references);

// Returns true if the handle belongs to a live or destroyed object. Both are accepted, because a
// program may release more references than exist. retain() and release() do nothing for a destroyed
// object.
[[nodiscard]] bool is_user_object_handle(abi::CUuserObject handle) noexcept;

// Adds references to an object.
void retain(abi::CUuserObject object, std::size_t references) noexcept;

// Releases references. Destroys the object when no reference is left. If memory for queueing the
// program's destructor runs out, the destructor is queued when another object is created or
// destroyed.
void release(abi::CUuserObject object, std::size_t references) noexcept;

// The references that a graph or an executable graph holds. Guarded by its owner's lock.
class user_object_references {
 public:
  user_object_references() = default;
  // Adds own references, like share(). Throws std::bad_alloc.
  user_object_references(const user_object_references& source) : user_object_references{} {
    share(source);
  }
  user_object_references(user_object_references&& source) noexcept
      : held_{std::move(source.held_)} {
    source.held_.clear();
  }
  user_object_references& operator=(user_object_references&& source) noexcept;
  ~user_object_references() { drop(); }

  // Takes over references from the caller. If it throws std::bad_alloc, the caller still has the
  // references.
  void adopt(abi::CUuserObject object, std::size_t references) { held_[object] += references; }

  // Forgets up to `references` references, which the caller has released.
  void forget(abi::CUuserObject object, std::size_t references) noexcept;

  // Adds own references to all objects that `source` holds. Throws std::bad_alloc after adding
  // some.
  void share(const user_object_references& source);

  // Releases all references.
  void drop() noexcept;

 private:
  std::unordered_map<abi::CUuserObject, std::size_t> held_;
};

}  // namespace weir::embedded::model
