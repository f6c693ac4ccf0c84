// SPDX-License-Identifier: Apache-2.0
// api/profiler/nvtx.hpp - the profiler that receives names and ranges.
#pragma once

#include <cstdint>

namespace weir::detail {

// The functions that a profiler has registered, with the signatures of NVTX 3. Null for those that
// it does not implement.
struct profiler {
  void (*mark)(const char* name) = nullptr;
  int (*push_range)(const char* name) = nullptr;
  int (*pop_range)() = nullptr;
  void (*name_thread)(std::uint32_t thread, const char* name) = nullptr;
  void (*name_device)(int device, const char* name) = nullptr;
  void (*name_context)(void* context, const char* name) = nullptr;
  void (*name_stream)(void* stream, const char* name) = nullptr;
  void (*name_event)(void* event, const char* name) = nullptr;
};

// Returns the profiler that the environment names, loaded at the first call. Null if there is none
// or it cannot be loaded.
[[nodiscard]] const profiler* loaded_profiler() noexcept;

}  // namespace weir::detail
