// api/kernel/module_state.cpp - a loaded module, and its end.
#include "api/kernel/module_state.hpp"

#include "api/device/device_call.hpp"
#include "api/core/first_failure.hpp"
#include "api/core/guard.hpp"
#include "api/device/make_current.hpp"
#include "api/deferred/reclaimer.hpp"

#include <fmt/format.h>

namespace weir::detail {
namespace {

// On weir's own thread, which may wait: a driver unloads behind the work of the device.
chore_result unload(chore& self) noexcept {
  if (open_captures.load(std::memory_order_relaxed) != 0) return chore_result::capture_open;
  auto& state = static_cast<module_state&>(static_cast<shared_owner&>(self));
  first_failure failure;
  waiting_in_context(state.context, failure,
                     [&] { failure.note(driver().cuModuleUnload(state.handle), "cuModuleUnload"); });
  check_unraised(failure, subject{state.context});
  delete &state;
  return chore_result::done;
}

// The last share is gone, on whatever thread.
chore_result leave_to_reclaimer(chore& self) noexcept {
  self.run = &unload;
  leave_chore(self);
  return chore_result::done;
}

}  // namespace

module_state::module_state(CUmodule module_handle, CUcontext in, std::string what, name_pairs names)
    : handle{module_handle}, context{in}, label{std::move(what)}, lowered_names{std::move(names)} {
  run = &leave_to_reclaimer;
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
  check(driver().cuModuleGetFunctionCount(&count, state.handle), "cuModuleGetFunctionCount", {}, at);
  std::vector<CUfunction> functions(count);
  if (count != 0) {
    check(driver().cuModuleEnumerateFunctions(functions.data(), count, state.handle), "cuModuleEnumerateFunctions", {},
          at);
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
