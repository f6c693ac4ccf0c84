// SPDX-License-Identifier: Apache-2.0
// api/kernel/module_state.hpp - a loaded module, shared by its module object, kernels and
// variables.
#pragma once

#include "api/core/check.hpp"
#include "api/kernel/kernel_state.hpp"
#include "driver/abi.hpp"

#include <weir/detail/keep_alive.hpp>

#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::detail {

// Pairs of a name expression and its linker name.
using name_pairs = std::vector<std::pair<std::string, std::string>>;

// A loaded module. The release of the last reference unloads it.
struct module_state final : keep_alive {
  // Takes ownership of the module. If the constructor throws, the caller still owns it.
  module_state(CUmodule handle, CUcontext owner_context, std::string label,
               name_pairs lowered_names);
  module_state(const module_state&) = delete;
  module_state& operator=(const module_state&) = delete;
  ~module_state() = default;

  // Returns the linker name of a name expression of the program. Returns `name` itself if it is no
  // such expression.
  [[nodiscard]] const std::string& lowered(const std::string& name) const noexcept;

  CUmodule handle;
  CUcontext context;
  std::string label;  // for texts: a program's name or a file; may be empty
  name_pairs lowered_names;

  std::mutex lock;  // guards `kernels`
  std::map<CUfunction, kernel_state> kernels;
};

// Returns `module "scale.cu"`, for texts.
[[nodiscard]] std::string describe(const module_state& state);

// Returns the linker names of all kernels of the module.
[[nodiscard]] std::vector<std::string> kernel_names_of(const module_state& state, call_site at);

}  // namespace weir::detail
