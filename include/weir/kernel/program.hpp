// SPDX-License-Identifier: Apache-2.0
// weir/kernel/program.hpp - CUDA C source that is compiled at run time, for the device that is
// present.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/core/error.hpp>
#include <weir/detail/export.hpp>
#include <weir/device/device.hpp>
#include <weir/kernel/module.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace weir {

/// Options of the compiler.
struct program_options {
  std::string name = {};  ///< file name in the compiler's messages; "program.cu" if empty
  std::vector<std::string> defines = {};        ///< NAME or NAME=VALUE
  std::vector<std::string> include_paths = {};  ///< folders
  /// Headers that the source can include: pairs of a name, as in #include "name", and the text.
  /// They need not exist as files. A name is a relative path without "..".
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::string standard = {};  ///< "c++17", "c++20", ...; empty: c++17
  bool debug = false;         ///< compiles for a debugger, not for speed
  bool fast_math = false;
  bool line_info = false;      ///< line numbers for profilers; costs nothing
  unsigned max_registers = 0;  ///< per thread; 0: the compiler's choice. GPUs only
  /// "sm_90", "sm_90a", or "compute_80" for PTX, which the driver compiles for any device of that
  /// generation or newer. For an embedded device a value of -march. Empty: the device's own
  /// architecture.
  std::string architecture = {};
  /// Names of template instances and of variables, such as "scale<float>" and "&ns::table". The
  /// compiler instantiates them, and module::kernel() and module::global() find them by these
  /// names.
  std::vector<std::string> name_expressions = {};
  std::vector<std::string> extra = {};  ///< further options, passed to the compiler unchanged
};

/// Reports that a program could not be compiled.
///
/// The code is `invalid_source` if the compiler rejected the source, `jit_compiler_not_found` if
/// this machine has no compiler, and `operating_system` if the compiler's files cannot be written.
/// In the last two cases the hint says what to do.
class WEIR_EXPORT compile_error : public error {
 public:
  /// Creates an error with the output and the name of the compiler.
  compile_error(errc code, std::string object, std::string hint, std::string log,
                std::string compiler, call_site at);

  /// Returns all output of the compiler, with the line numbers of the program's source:
  /// `scale.cu(3): error: identifier "y" is undefined`. Empty if the compiler was not run or was
  /// silent.
  [[nodiscard]] const std::string& log() const noexcept { return compiler_output_->first; }
  /// Returns the compiler: "NVRTC 13.0", "/usr/bin/g++". Empty if there is none.
  [[nodiscard]] const std::string& compiler() const noexcept { return compiler_output_->second; }

 private:
  std::shared_ptr<const std::pair<std::string, std::string>> compiler_output_;
};

/// The result of program::image_for().
struct program_image {
  std::vector<std::byte> bytes;  ///< for module::load() and cuModuleLoadData
  std::string warnings;          ///< of the compiler; empty if there are none
  /// The linker's name for each of program_options::name_expressions, in their order. Modules that
  /// are loaded from `bytes` find kernels and variables by the linker's names.
  std::vector<std::pair<std::string, std::string>> lowered_names;
};

/// CUDA C source with its compiler options. A value.
///
/// Kernels are __global__ functions. extern "C" keeps their names short, but is not required.
///
///   const weir::program source{R"(
///     extern "C" __global__ void scale(float* x, float by, int n) {
///       const int i = blockIdx.x * blockDim.x + threadIdx.x;
///       if (i < n) x[i] *= by;
///     }
///   )"};
///   const weir::kernel scale = source.compile(gpu).kernel("scale");
///
/// The program can be compiled for GPUs and for embedded devices.
///
/// Thread safety: const members may be called from any thread, so several threads may compile
/// concurrently; assigning needs exclusive access.
class WEIR_EXPORT program {
 public:
  /// Keeps the source and the options. Compiles nothing.
  explicit program(std::string source, program_options options = {});

  /// Reads the source from a file. Messages name the file, and its folder is the first include
  /// path.
  ///
  /// Throws: `file_not_found`, with the reason in the text, if the file cannot be read.
  [[nodiscard]] static program from_file(const std::string& path, program_options options = {},
                                         call_site at = call_site::current());

  /// Compiles the program for a device, unless an earlier result is stored, and loads the result on
  /// the device.
  ///
  /// For a GPU, NVRTC compiles it. NVRTC is opened when first needed: libnvrtc.so.13 or .12, or the
  /// file that WEIR_NVRTC names. For an embedded device, the C++ compiler of this machine compiles
  /// it (g++ or clang++; WEIR_CXX names another one).
  /// Results are stored on disk; the environment variable WEIR_CACHE selects the folder or turns
  /// this off (docs/guide/programs-and-launches.md). Compiling an equal program again takes about
  /// as long as loading a file.
  ///
  /// Throws: compile_error; the errors of module::load().
  /// In a capture: allowed, with the restriction of module::load().
  /// In a host function: throws `not_permitted`.
  [[nodiscard]] module compile(device gpu, call_site at = call_site::current()) const;

  /// Compiles the program without loading it, unless an earlier result is stored, and returns an
  /// image for devices of that kind. Store its bytes and pass them to module::load() where no
  /// compiler exists. module::kernel() then finds kernels by their names in the source, if these
  /// are extern "C", or by the linker's names.
  ///
  /// Throws: compile_error.
  [[nodiscard]] program_image image_for(device gpu, call_site at = call_site::current()) const;

  /// Returns the source.
  [[nodiscard]] const std::string& source() const noexcept { return source_; }
  /// Returns the options.
  [[nodiscard]] const program_options& options() const noexcept { return options_; }

 private:
  std::string source_;
  program_options options_;
};

}  // namespace weir
