// api/profiler/nvtx.hpp - the tool that wants to hear of names and ranges.
#pragma once

#include <cstdint>

namespace weir::detail {

// What a tool has put in place, with the signatures of NVTX 3; null where it does not care.
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

// The tool that the environment names, loaded at the first call; null if there is none or it will
// not.
[[nodiscard]] const profiler* loaded_profiler() noexcept;

}  // namespace weir::detail
