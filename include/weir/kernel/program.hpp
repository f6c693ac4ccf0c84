// weir/kernel/program.hpp - CUDA C source that is compiled while the program runs, for whichever
// device there is.
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

struct program_options {
  std::string name = {};  // of the file in the compiler's messages; "program.cu" if empty
  std::vector<std::string> defines = {};        // NAME or NAME=VALUE
  std::vector<std::string> include_paths = {};  // folders
  // Texts for #include "name", each with its name, which need not be files: relative paths without
  // "..".
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::string standard = {};  // "c++17", "c++20", ...; empty: c++17
  bool debug = false;         // for a debugger, not for speed
  bool fast_math = false;
  bool line_info = false;      // for profilers; costs nothing
  unsigned max_registers = 0;  // of a thread; 0: as the compiler likes. GPUs only
  // "sm_90", "sm_90a", or "compute_80" for PTX, which the driver compiles for any device of that
  // kind or newer; for an embedded device as -march has it. Empty: the device's own.
  std::string architecture = {};
  // Instances of templates, and variables, to be had by these names: "scale<float>", "&ns::table".
  std::vector<std::string> name_expressions = {};
  std::vector<std::string> extra = {};  // the compiler's own options, as they are
};

// The compiler did not take a source (invalid_source); or there is none on this machine
// (jit_compiler_not_found), or no place for its files (operating_system), which the advice then
// says what to do about.
class WEIR_EXPORT compile_error : public error {
 public:
  compile_error(errc code, std::string object, std::string hint, std::string log,
                std::string compiler, call_site at);

  // All that the compiler said, with the line numbers of the source as it was given:
  // `scale.cu(3): error: identifier "y" is undefined`. Empty if none was asked, or it said nothing.
  [[nodiscard]] const std::string& log() const noexcept { return compiler_output_->first; }
  // "NVRTC 13.0", "/usr/bin/g++". Empty if there is none.
  [[nodiscard]] const std::string& compiler() const noexcept { return compiler_output_->second; }

 private:
  std::shared_ptr<const std::pair<std::string, std::string>> compiler_output_;
};

// CUDA C source and how to compile it: a value. Kernels are __global__ functions; extern "C" keeps
// their names short, and is not needed.
//
//   const weir::program source{R"(
//     extern "C" __global__ void scale(float* x, float by, int n) {
//       const int i = blockIdx.x * blockDim.x + threadIdx.x;
//       if (i < n) x[i] *= by;
//     }
//   )"};
//   const weir::kernel scale = source.compile(gpu).kernel("scale");   // a GPU, or an embedded
//   device
//
// Thread safety: as any object; several threads may compile at once.
class WEIR_EXPORT program {
 public:
  explicit program(std::string source, program_options options = {});

  // The text of a file; messages name the file, and its folder is the first of the include paths.
  // One that cannot be read: file_not_found, with the reason in the text.
  [[nodiscard]] static program from_file(const std::string& path, program_options options = {},
                                         call_site at = call_site::current());

  // Compiles it for the device, or finds what was compiled before, and loads it there. For a GPU by
  // NVRTC, which is opened when it is first needed (libnvrtc.so.13 or .12; WEIR_NVRTC names another
  // file); for an embedded device by the C++ compiler of this machine (g++ or clang++; WEIR_CXX
  // names another one). Throws compile_error. Products are kept on disk (WEIR_CACHE,
  // docs/guide/programs-and-launches.md): a second program that compiles the same takes about as
  // long as loading a file. In a capture: allowed; module::load() says where not. In a host
  // function: refused.
  [[nodiscard]] module compile(device gpu, call_site at = call_site::current()) const;

  // The same without loading: an image for devices of that kind, to be kept and given to
  // module::load() where there is no compiler. Name expressions are forgotten there; its kernels
  // are found by the names that the source has.
  [[nodiscard]] std::vector<std::byte> image_for(device gpu,
                                                 call_site at = call_site::current()) const;

  // What the compiler warns of; compiles it if that was not done before.
  [[nodiscard]] std::string warnings(device gpu, call_site at = call_site::current()) const;

  [[nodiscard]] const std::string& source() const noexcept { return source_; }
  [[nodiscard]] const program_options& options() const noexcept { return options_; }

 private:
  std::string source_;
  program_options options_;
};

}  // namespace weir
