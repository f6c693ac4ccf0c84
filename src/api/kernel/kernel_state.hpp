// api/kernel/kernel_state.hpp - what weir knows of a kernel, asked once.
#pragma once

#include "api/core/check.hpp"

#include <weir/kernel/kernel.hpp>

#include <atomic>
#include <vector>

namespace weir::detail {

// Stays where it is for as long as somebody has the kernel.
struct kernel_state : kernel_info {
  // Asks for the parameters, with the context current.
  kernel_state(CUfunction handle, CUcontext in, call_site at);

  CUcontext context;
  std::vector<kernel_parameter> parameter_list;
  std::atomic<unsigned> best_block{0};  // threads, without dynamic shared memory; 0: not asked yet
};

// Of an open kernel, on a thread where calls are allowed.
[[nodiscard]] kernel_state& require_open(const kernel& what, const char* call, call_site at);

// For texts: `kernel "_Z5scalePff"`.
[[nodiscard]] std::string describe(const kernel& what);
// The name that the driver has for it; empty if it does not tell.
[[nodiscard]] std::string linker_name_of(CUfunction function) noexcept;

}  // namespace weir::detail
