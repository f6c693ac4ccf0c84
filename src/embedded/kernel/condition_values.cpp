// SPDX-License-Identifier: Apache-2.0
// kernel/condition_values.cpp - which handle is which value's.
#include "embedded/kernel/condition_values.hpp"

#include <mutex>
#include <unordered_map>

namespace weir::embedded::kernel {

namespace {

std::mutex values_lock;

// Never destroyed: graphs may be held to the end of the program. Guarded by the values_lock.
std::unordered_map<std::uint64_t, condition_value*>& known() {
  static auto* const all = new std::unordered_map<std::uint64_t, condition_value*>;
  return *all;
}

}  // namespace

std::shared_ptr<condition_value> condition_value::make(std::uint64_t handle) {
  auto made = std::make_shared<condition_value>(handle);
  const std::lock_guard lock{values_lock};
  known()[handle] = made.get();
  return made;
}

condition_value::~condition_value() {
  const std::lock_guard lock{values_lock};
  if (const auto found = known().find(handle_); found != known().end() && found->second == this)
    known().erase(found);
}

bool set_condition(std::uint64_t handle, std::uint32_t to) noexcept {
  const std::lock_guard lock{values_lock};
  const auto found = known().find(handle);
  if (found == known().end()) return false;
  found->second->set(to);
  return true;
}

}  // namespace weir::embedded::kernel
