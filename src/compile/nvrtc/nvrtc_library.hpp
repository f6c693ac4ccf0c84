// SPDX-License-Identifier: Apache-2.0
// compile/nvrtc/nvrtc_library.hpp - the vendor's run-time compiler: where it is, and its functions.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

// As nvrtc.h declares it.
struct _nvrtcProgram;

namespace weir::compile {

using nvrtc_result = int;  // 0: success
using nvrtc_program = _nvrtcProgram*;

// Its functions, under their own names.
struct nvrtc_functions {
  const char* (*nvrtcGetErrorString)(nvrtc_result);
  nvrtc_result (*nvrtcVersion)(int* major, int* minor);
  nvrtc_result (*nvrtcCreateProgram)(nvrtc_program*, const char* source, const char* name,
                                     int header_count, const char* const* headers,
                                     const char* const* header_names);
  nvrtc_result (*nvrtcDestroyProgram)(nvrtc_program*);
  nvrtc_result (*nvrtcCompileProgram)(nvrtc_program, int option_count, const char* const* options);
  nvrtc_result (*nvrtcGetPTXSize)(nvrtc_program, std::size_t*);
  nvrtc_result (*nvrtcGetPTX)(nvrtc_program, char*);
  nvrtc_result (*nvrtcGetCUBINSize)(nvrtc_program, std::size_t*);
  nvrtc_result (*nvrtcGetCUBIN)(nvrtc_program, char*);
  nvrtc_result (*nvrtcGetProgramLogSize)(nvrtc_program, std::size_t*);
  nvrtc_result (*nvrtcGetProgramLog)(nvrtc_program, char*);
  nvrtc_result (*nvrtcAddNameExpression)(nvrtc_program, const char*);
  nvrtc_result (*nvrtcGetLoweredName)(nvrtc_program, const char* expression, const char** name);
  nvrtc_result (*nvrtcGetNumSupportedArchs)(int*);
  nvrtc_result (*nvrtcGetSupportedArchs)(int*);
};

// The file: WEIR_NVRTC if that is set, else libnvrtc.so.13 or .12 of LD_LIBRARY_PATH, of CUDA_HOME
// or CUDA_PATH, of /usr/local/cuda, or of the system's folders. Opens nothing. Empty if it is in
// none of these, where the loader may know of it all the same.
[[nodiscard]] std::string find_nvrtc();

// Where cuda_fp16.h and cooperative_groups.h are, for a compiler that was found there; none without
// a toolkit.
[[nodiscard]] std::vector<std::string> toolkit_include_paths(const std::string& nvrtc);

// Opened at the first call, and never closed. Throws failure if there is none.
[[nodiscard]] const nvrtc_functions& nvrtc();

}  // namespace weir::compile
