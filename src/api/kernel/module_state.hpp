// api/kernel/module_state.hpp - a loaded module, for as long as anybody has it, its kernels or its
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

using name_pairs = std::vector<std::pair<std::string, std::string>>;

struct module_state final : keep_alive {
  // Takes the module over when it is made, not before.
  module_state(CUmodule handle, CUcontext in, std::string label, name_pairs lowered_names);
  module_state(const module_state&) = delete;
  module_state& operator=(const module_state&) = delete;
  ~module_state() = default;

  // The linker's name for what a program calls so; the name itself if it does not know better.
  [[nodiscard]] const std::string& lowered(const std::string& name) const noexcept;

  CUmodule handle;
  CUcontext context;
  std::string label;  // for texts: a program's name, a file; empty if nobody told
  name_pairs lowered_names;

  std::mutex lock;  // for what follows
  std::map<CUfunction, kernel_state> kernels;
};

// For texts: `module "scale.cu"`.
[[nodiscard]] std::string describe(const module_state& state);

// The names of all its kernels, as the linker knows them.
[[nodiscard]] std::vector<std::string> kernel_names_of(const module_state& state, call_site at);

}  // namespace weir::detail
