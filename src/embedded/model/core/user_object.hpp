// model/user_object.hpp - objects of the program that graphs keep alive, counted.
#pragma once

#include <cstddef>
#include <unordered_map>
#include <utility>

#include "driver/abi.hpp"

namespace weir::embedded::model {

// Objects are reused (handle_table.hpp). The program's destructor runs once, when the last
// reference goes, on the thread of the host functions, where most calls of the driver are not
// permitted.
//
// Thread safety: the functions below, from any thread; they need no initialised driver.
struct user_object {
  void* data = nullptr;
  abi::CUhostFn destroy = nullptr;
  std::size_t references = 0;   // guarded by the lock of the user objects
  user_object* next = nullptr;  // among those that have ended and wait for memory, so that their
                                // destructors can be queued
};

// Makes one, and gives its handle. Throws std::bad_alloc.
abi::CUuserObject make_user_object(void* data, abi::CUhostFn destroy, std::size_t references);

// Is there, or was there, an object of this handle? The program may let go of more references than
// there are: what is done to an object that has ended is no error.
[[nodiscard]] bool is_user_object_handle(abi::CUuserObject handle) noexcept;

void retain(abi::CUuserObject object, std::size_t references) noexcept;

// Ends the object with its last reference. Where there is no memory to have its destructor run,
// that waits for the next object that is made or ends.
void release(abi::CUuserObject object, std::size_t references) noexcept;

// The references that a graph or an executable holds. Guarded by its owner's lock.
class user_object_references {
 public:
  user_object_references() = default;
  user_object_references(user_object_references&& other) noexcept : held_{std::move(other.held_)} {
    other.held_.clear();
  }
  user_object_references& operator=(user_object_references&& other) noexcept;
  ~user_object_references() { drop(); }

  // Takes over references that the caller has. Throws std::bad_alloc, and then the caller keeps
  // them.
  void adopt(abi::CUuserObject object, std::size_t references) { held_[object] += references; }

  // Forgets references, as many of them as it has; the caller has released them.
  void forget(abi::CUuserObject object, std::size_t references) noexcept;

  // Takes references of its own to all that another holds. Throws std::bad_alloc, and then some are
  // taken.
  void share(const user_object_references& other);

  // Releases all.
  void drop() noexcept;

 private:
  std::unordered_map<abi::CUuserObject, std::size_t> held_;
};

}  // namespace weir::embedded::model
