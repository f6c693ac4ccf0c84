// SPDX-License-Identifier: Apache-2.0
// compile/nvrtc/nvrtc.cpp - CUDA C source to an image for a GPU.
#include "compile/nvrtc/nvrtc_library.hpp"
#include "compile/request.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string_view>
#include <system_error>

namespace weir::compile {
namespace {

// The compiler's object for one source.
class source_program {
 public:
  explicit source_program(const request& what)
      : name_{what.name.empty() ? "program.cu" : what.name} {
    std::vector<const char*> names;
    std::vector<const char*> texts;
    for (const auto& [name, text] : what.headers) {
      names.push_back(name.c_str());
      texts.push_back(text.c_str());
    }
    const nvrtc_result answer = nvrtc().nvrtcCreateProgram(
        &program_, what.source.c_str(), name_.c_str(), static_cast<int>(what.headers.size()),
        texts.data(), names.data());
    if (answer != 0) fail("cannot read " + name_, answer);
    try {
      for (const std::string& expression : what.name_expressions) {
        check(nvrtc().nvrtcAddNameExpression(program_, expression.c_str()), expression);
      }
    } catch (...) {
      nvrtc().nvrtcDestroyProgram(&program_);
      throw;
    }
  }
  source_program(const source_program&) = delete;
  source_program& operator=(const source_program&) = delete;
  ~source_program() { nvrtc().nvrtcDestroyProgram(&program_); }

  void compile(const std::vector<std::string>& options) const {
    std::vector<const char*> each;
    each.reserve(options.size());
    for (const std::string& option : options) each.push_back(option.c_str());
    const nvrtc_result answer =
        nvrtc().nvrtcCompileProgram(program_, static_cast<int>(each.size()), each.data());
    if (answer != 0) fail("cannot compile " + name_, answer);
  }

  [[nodiscard]] std::string log() const {
    std::string text = text_of(nvrtc().nvrtcGetProgramLogSize, nvrtc().nvrtcGetProgramLog);
    while (!text.empty() && (text.back() == '\0' || text.back() == '\n')) text.pop_back();
    return text;
  }

  [[nodiscard]] std::vector<std::byte> image(bool as_ptx) const {
    const std::string text = as_ptx ? text_of(nvrtc().nvrtcGetPTXSize, nvrtc().nvrtcGetPTX)
                                    : text_of(nvrtc().nvrtcGetCUBINSize, nvrtc().nvrtcGetCUBIN);
    const auto* const bytes = reinterpret_cast<const std::byte*>(text.data());
    return {bytes, bytes + text.size()};
  }

  [[nodiscard]] std::string lowered(const std::string& expression) const {
    const char* name = nullptr;
    check(nvrtc().nvrtcGetLoweredName(program_, expression.c_str(), &name), expression);
    return name;
  }

 private:
  [[nodiscard]] std::string text_of(nvrtc_result (*size)(nvrtc_program, std::size_t*),
                                    nvrtc_result (*get)(nvrtc_program, char*)) const {
    std::size_t bytes = 0;
    check(size(program_, &bytes), name_);
    std::string text(bytes, '\0');
    if (bytes != 0) check(get(program_, text.data()), name_);
    return text;
  }
  void check(nvrtc_result answer, const std::string& what) const {
    if (answer != 0) fail("failed on " + what, answer);
  }
  [[noreturn]] void fail(const std::string& what, nvrtc_result answer) const {
    int major = 0;
    int minor = 0;
    nvrtc().nvrtcVersion(&major, &minor);
    const std::string compiler = "NVRTC " + std::to_string(major) + "." + std::to_string(minor);
    std::string said;
    std::size_t bytes = 0;
    if (program_ != nullptr && nvrtc().nvrtcGetProgramLogSize(program_, &bytes) == 0 && bytes > 1)
      said = log();
    throw failure{obstacle::source,
                  compiler + " " + what + ": " + nvrtc().nvrtcGetErrorString(answer),
                  std::move(said), compiler};
  }

  std::string name_;
  nvrtc_program program_ = nullptr;
};

// The compute capability in "sm_90a" or "compute_90"; 0 if there is none.
int capability_in(std::string_view architecture) noexcept {
  const std::size_t digits = architecture.find_first_of("0123456789");
  int number = 0;
  if (digits != std::string_view::npos) {
    std::from_chars(architecture.data() + digits, architecture.data() + architecture.size(),
                    number);
  }
  return number;
}

// For a device that is newer than the compiler: text for the newest that it knows, which the driver
// translates.
std::string architecture_for(const std::string& asked) {
  int count = 0;
  if (!asked.starts_with("sm_") || nvrtc().nvrtcGetNumSupportedArchs(&count) != 0 || count <= 0)
    return asked;
  std::vector<int> known(static_cast<std::size_t>(count));
  if (nvrtc().nvrtcGetSupportedArchs(known.data()) != 0) return asked;
  const int newest = *std::ranges::max_element(known);
  return capability_in(asked) > newest ? "compute_" + std::to_string(newest) : asked;
}

std::vector<std::string> options_for(const request& what, const std::string& architecture) {
  std::vector<std::string> options{"--std=" + (what.standard.empty() ? "c++17" : what.standard)};
  if (!architecture.empty()) options.push_back("--gpu-architecture=" + architecture);
  for (const std::string& define : what.defines) options.push_back("--define-macro=" + define);
  for (const std::string& path : what.include_paths)
    if (!path.empty()) options.push_back("--include-path=" + path);
  for (const std::string& path : toolkit_include_paths(find_nvrtc()))
    options.push_back("--include-path=" + path);
  if (what.debug) options.emplace_back("--device-debug");
  if (what.fast_math) options.emplace_back("--use_fast_math");
  if (what.line_info) options.emplace_back("--generate-line-info");
  if (what.max_registers != 0)
    options.push_back("--maxrregcount=" + std::to_string(what.max_registers));
  options.insert(options.end(), what.extra.begin(), what.extra.end());
  return options;
}

// A file as it is now.
std::string state_of(const std::string& path) {
  std::error_code failed;
  const auto size = std::filesystem::file_size(path, failed);
  if (failed) return path;
  const auto written = std::filesystem::last_write_time(path, failed).time_since_epoch().count();
  return path + " " + std::to_string(size) + " " + std::to_string(written);
}

}  // namespace

product with_nvrtc(const request& what) {
  const std::string architecture = architecture_for(what.architecture);
  const source_program program{what};
  program.compile(options_for(what, architecture));
  product made;
  made.image = program.image(architecture.empty() || architecture.starts_with("compute_"));
  made.log = program.log();
  for (const std::string& expression : what.name_expressions) {
    made.lowered_names.emplace_back(expression, program.lowered(expression));
  }
  return made;
}

// Opens no library where the file is found: finding a product in a cache takes less time than that.
std::string nvrtc_identity() {
  const std::string file = find_nvrtc();
  std::string identity = "nvrtc " + (file.empty() ? file : state_of(file));
  if (file.empty()) {
    int major = 0;
    int minor = 0;
    nvrtc().nvrtcVersion(&major, &minor);
    identity += std::to_string(major) + "." + std::to_string(minor);
  }
  for (const std::string& path : toolkit_include_paths(file))
    identity += " " + state_of(path + "/cuda_fp16.h");
  return identity;
}

}  // namespace weir::compile
