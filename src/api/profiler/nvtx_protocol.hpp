// SPDX-License-Identifier: Apache-2.0
// api/profiler/nvtx_protocol.hpp - the binary interface between NVTX 3 clients and profilers:
// tables and function numbers. A test compares it with NVTX's headers if they are installed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weir::detail::nvtx {

// The environment variable contains the path of the profiler's library. The client calls the
// library's start function and passes a get_export_table, a function that returns the
// callbacks_table or the version_table. The start function returns nonzero if the profiler
// attaches.
inline constexpr const char* library_variable = "NVTX_INJECTION64_PATH";
inline constexpr const char* start_symbol = "InitializeInjectionNvtx2";
using get_export_table = const void* (*)(std::uint32_t which);
using initialize_injection = int (*)(get_export_table);

// A table that a profiler fills: an array of pointers to function pointers, indexed by
// core_function or cuda_function. Entry 0 is null.
using function = void (*)();
using function_table = function**;

enum class module : unsigned {
  core = 1,
  cuda = 2,
  opencl = 3,
  cuda_runtime = 4,
  core2 = 5,
  sync = 6
};
// The highest function number of each module plus one.
inline constexpr unsigned core_size = 16, cuda_size = 9, opencl_size = 15, cuda_runtime_size = 7,
                          core2_size = 16, sync_size = 7;
inline constexpr unsigned max_module_size = 16;

enum core_function : unsigned { mark = 2, push_range = 9, pop_range = 11, name_thread = 14 };
enum cuda_function : unsigned {
  name_device = 1,
  name_context = 3,
  name_stream = 5,
  name_event = 7
};

// The numbers of the tables that a profiler requests from get_export_table(), and the version of
// the protocol.
inline constexpr std::uint32_t callbacks_table_number = 1;
inline constexpr std::uint32_t version_table_number = 3;
inline constexpr std::uint32_t version = 3;

// module() returns the function table of a module and its size. Nonzero means success.
struct callbacks_table {
  std::size_t size;
  int (*module)(unsigned which, function_table* result, unsigned* size);
};
// The version of the protocol. A profiler may call set_tool_version().
struct version_table {
  std::size_t size;
  std::uint32_t version;
  std::uint32_t reserved;
  void (*set_tool_version)(std::uint32_t version);
};

}  // namespace weir::detail::nvtx
