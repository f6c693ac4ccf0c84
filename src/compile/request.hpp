// SPDX-License-Identifier: Apache-2.0
// compile/request.hpp - what is asked of a compiler of CUDA C source, for whichever device, and
// what comes of it.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace weir::compile {

struct request {
  std::string source;
  std::string name;                  // of the file, for messages; "program.cu" if empty
  std::vector<std::string> defines;  // NAME or NAME=VALUE
  std::vector<std::string> include_paths;
  std::vector<std::pair<std::string, std::string>> headers;  // name and text, for #include "name"
  std::string standard;                                      // "c++17", ...; empty: c++17
  bool debug = false;  // for a debugger, and misaligned accesses are found where the device can
  bool fast_math = false;
  bool line_info = false;
  unsigned max_registers = 0;  // a GPU's alone
  std::string architecture;    // GPU: "sm_90"; host: as -march= has it, empty for the host's own
  std::vector<std::string> name_expressions;  // "scale<float>", "&table"
  std::vector<std::string> extra;             // the compiler's own options, as they are
};

struct product {
  std::vector<std::byte> image;  // for cuModuleLoadData
  std::string log;               // the compiler's warnings; empty if it had none
  // For each name expression, in order, the linker's name: cuModuleGetFunction's and
  // cuModuleGetGlobal's.
  std::vector<std::pair<std::string, std::string>> lowered_names;
};

// What was in the way of an image.
enum class obstacle { source, no_compiler, machine };

// No image came of a source. what() is one line; log() is all that the compiler said, with the
// user's own file names and line numbers; compiler() is the program or library that was asked,
// empty where none was found.
class failure : public std::runtime_error {
 public:
  failure(obstacle why, const std::string& what, std::string log, std::string compiler)
      : std::runtime_error(what), why_{why}, log_{std::move(log)}, compiler_{std::move(compiler)} {}

  [[nodiscard]] obstacle why() const noexcept { return why_; }
  [[nodiscard]] const std::string& log() const noexcept { return log_; }
  [[nodiscard]] const std::string& compiler() const noexcept { return compiler_; }

 private:
  obstacle why_;
  std::string log_;
  std::string compiler_;
};

// For the embedded device, by the C++ compiler of this machine: WEIR_CXX if that is set, else g++,
// clang++ or c++ of PATH. Throws failure. Any number of threads and processes may call it at once.
[[nodiscard]] product for_host(const request& what);

// What else the product of for_host depends on: compiler, its version, the CPU, weir's own headers.
// For a cache's key. Throws failure where there is no compiler.
[[nodiscard]] std::string host_identity();

// For a GPU, by the vendor's run-time compiler, which is opened at the first use. Throws failure.
[[nodiscard]] product with_nvrtc(const request& what);

// The same for with_nvrtc. Throws failure where that library is not there.
[[nodiscard]] std::string nvrtc_identity();

}  // namespace weir::compile
