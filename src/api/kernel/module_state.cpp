// SPDX-License-Identifier: Apache-2.0
// api/kernel/module_state.cpp - a loaded module, and its unloading.
#include "api/kernel/module_state.hpp"

#include "api/core/call_restrictions.hpp"
#include "api/core/first_failure.hpp"
#include "api/deferred/reclaimer.hpp"
#include "api/device/device_wait.hpp"
#include "api/device/make_current.hpp"

#include <fmt/format.h>

namespace weir::detail {
namespace {

// Unloads the module and destroys its state. Runs on the reclaimer thread, because the driver waits
// for the work of the device first.
task_result unload(deferred_task& self) noexcept {
  // Unloading is an unsafe call in a capture.
  if (active_capture_count.load(std::memory_order_relaxed) != 0) return task_result::capture_active;
  auto& state = static_cast<module_state&>(static_cast<keep_alive&>(self));
  first_failure failure;
  call_blocking_in_context(state.context, failure, [&] {
    failure.note(driver().cuModuleUnload(state.handle), "cuModuleUnload");
  });
  report_if_failed(failure, subject{state.context});
  delete &state;
  return task_result::done;
}

// Defers unload(). Called on any thread when the last reference is released.
task_result defer_unload(deferred_task& self) noexcept {
  self.run = &unload;
  defer_task(self);
  return task_result::done;
}

}  // namespace

module_state::module_state(CUmodule module_handle, CUcontext owner_context,
                           std::string module_label, name_pairs names)
    : handle{module_handle},
      context{owner_context},
      label{std::move(module_label)},
      lowered_names{std::move(names)} {
  run = &defer_unload;
}

const std::string& module_state::lowered(const std::string& name) const noexcept {
  for (const auto& [expression, lowered] : lowered_names) {
    if (expression == name) return lowered;
  }
  return name;
}

std::string describe(const module_state& state) {
  return state.label.empty() ? fmt::format("module {}", fmt::ptr(state.handle))
                             : fmt::format("module \"{}\"", state.label);
}

std::vector<std::string> kernel_names_of(const module_state& state, call_site at) {
  const make_current current{state.context, at};
  unsigned count = 0;
  check(driver().cuModuleGetFunctionCount(&count, state.handle), "cuModuleGetFunctionCount", {},
        at);
  std::vector<CUfunction> functions(count);
  if (count != 0) {
    check(driver().cuModuleEnumerateFunctions(functions.data(), count, state.handle),
          "cuModuleEnumerateFunctions", {}, at);
  }
  std::vector<std::string> names;
  names.reserve(count);
  for (const CUfunction function : functions) {
    const char* name = nullptr;
    check(driver().cuFuncGetName(&name, function), "cuFuncGetName", {}, at);
    names.emplace_back(name);
  }
  return names;
}

}  // namespace weir::detail
