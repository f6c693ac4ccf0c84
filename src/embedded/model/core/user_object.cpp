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

weir::detail::spin_lock counting;
user_object* waiting = nullptr;  // unreferenced objects that wait for memory; guarded by `counting`

// Queues a destructor in a timeline that belongs to no stream, so that it waits for no other work.
void run_destructor(const host_work& destructor) {
  static engine::timeline& destructors = engine::timeline::acquire();
  engine::timeline::submission pending_submission{destructors};
  pending_submission.add(engine::make_operation(destructor, engine::operation_kind::host, true));
}

// Queues the destructors of `unreferenced` and of all objects that wait for memory.
void run_destructors(user_object* unreferenced) noexcept {
  {
    const std::lock_guard lock{counting};
    user_object** last = &unreferenced;
    while (*last != nullptr) last = &(*last)->next;
    *last = std::exchange(waiting, nullptr);
  }
  while (unreferenced != nullptr) {
    user_object* const next = unreferenced->next;
    try {
      run_destructor({unreferenced->destroy, unreferenced->data});
    } catch (const std::bad_alloc&) {
      break;
    }
    this_process().user_objects.recycle(unreferenced);
    unreferenced = next;
  }
  if (unreferenced == nullptr) return;
  user_object* last = unreferenced;
  while (last->next != nullptr) last = last->next;
  const std::lock_guard lock{counting};
  last->next = std::exchange(waiting, unreferenced);
}

[[nodiscard]] bool has_pending_destructors() noexcept {
  const std::lock_guard lock{counting};
  return waiting != nullptr;
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
  const std::lock_guard lock{counting};
  if (user_object* found = this_process().user_objects.find(object))
    found->references += references;
}

void release(CUuserObject object, std::size_t references) noexcept {
  user_object* found = nullptr;
  {
    const std::lock_guard lock{counting};
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

user_object_references& user_object_references::operator=(user_object_references&& other) noexcept {
  const user_object_references before{std::move(*this)};
  held_.swap(other.held_);
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

void user_object_references::share(const user_object_references& other) {
  for (const auto& [object, references] : other.held_) {
    adopt(object, references);
    retain(object, references);
  }
}

void user_object_references::drop() noexcept {
  for (const auto& [object, references] : std::exchange(held_, {})) release(object, references);
}

}  // namespace weir::embedded::model
