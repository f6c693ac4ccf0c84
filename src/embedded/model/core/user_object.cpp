// SPDX-License-Identifier: Apache-2.0
// model/core/user_object.cpp - counts references to user objects, and queues their destructors.
#include "embedded/model/core/user_object.hpp"

#include <mutex>
#include <new>
#include <utility>

#include "embedded/engine/timeline.hpp"
#include "embedded/model/core/process.hpp"
#include "embedded/model/stream/operations.hpp"
#include "os/spin_lock.hpp"

namespace weir::embedded::model {

using namespace abi;

namespace {

weir::os::spin_lock references_lock;
user_object* pending_objects =
    nullptr;  // unreferenced objects that wait for memory; guarded by `references_lock`

// Queues a destructor in a timeline that belongs to no stream, so that it waits for no other work.
void run_destructor(const host_work& destructor) {
  static engine::timeline& destructors = engine::timeline::acquire();
  engine::timeline::submission pending{destructors};
  pending.add(engine::make_unconditional_operation(destructor, engine::operation_kind::host));
}

// Queues the destructors of the list `unreferenced` and of all objects in pending_objects. Objects
// for which memory runs out stay in pending_objects.
void run_destructors(user_object* unreferenced) noexcept {
  {
    const std::lock_guard lock{references_lock};
    user_object** last = &unreferenced;
    while (*last != nullptr) last = &(*last)->next;
    *last = std::exchange(pending_objects, nullptr);
  }
  while (unreferenced != nullptr) {
    user_object* const next = unreferenced->next;
    try {
      run_destructor({unreferenced->destructor, unreferenced->data});
    } catch (const std::bad_alloc&) {
      break;
    }
    this_process().user_objects.recycle(unreferenced);
    unreferenced = next;
  }
  if (unreferenced == nullptr) return;
  user_object* last = unreferenced;
  while (last->next != nullptr) last = last->next;
  const std::lock_guard lock{references_lock};
  last->next = std::exchange(pending_objects, unreferenced);
}

[[nodiscard]] bool has_pending_destructors() noexcept {
  const std::lock_guard lock{references_lock};
  return pending_objects != nullptr;
}

}  // namespace

CUuserObject make_user_object(void* data, CUhostFn destroy, std::size_t references) {
  user_object* created = this_process().user_objects.acquire();
  *created = {data, destroy, references};
  if (has_pending_destructors()) run_destructors(nullptr);
  return static_cast<CUuserObject>(this_process().user_objects.publish(created));
}

bool is_user_object_handle(CUuserObject handle) noexcept {
  return this_process().user_objects.has_tag(handle);
}

void retain(CUuserObject object, std::size_t references) noexcept {
  const std::lock_guard lock{references_lock};
  if (user_object* found = this_process().user_objects.find(object))
    found->references += references;
}

void release(CUuserObject object, std::size_t references) noexcept {
  user_object* found = nullptr;
  {
    const std::lock_guard lock{references_lock};
    found = this_process().user_objects.find(object);
    if (found == nullptr) return;
    if (found->references > references) {
      found->references -= references;
      return;
    }
    this_process().user_objects.retire(found, object);
  }
  found->next = nullptr;
  run_destructors(found);
}

user_object_references& user_object_references::operator=(
    user_object_references&& source) noexcept {
  const user_object_references released{std::move(*this)};
  held_.swap(source.held_);
  return *this;
}

void user_object_references::forget(CUuserObject object, std::size_t references) noexcept {
  const auto found = held_.find(object);
  if (found == held_.end()) return;
  if (found->second > references) {
    found->second -= references;
  } else {
    held_.erase(found);
  }
}

void user_object_references::share(const user_object_references& source) {
  for (const auto& [object, references] : source.held_) {
    adopt(object, references);
    retain(object, references);
  }
}

void user_object_references::drop() noexcept {
  for (const auto& [object, references] : std::exchange(held_, {})) release(object, references);
}

}  // namespace weir::embedded::model
