// SPDX-License-Identifier: Apache-2.0
// compile/nvrtc/nvrtc_library.cpp - the vendor's run-time compiler: where it is, and its functions.
#include "compile/nvrtc/nvrtc_library.hpp"

#include "compile/request.hpp"

#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <string_view>
#include <system_error>

#include <dlfcn.h>

namespace weir::compile {
namespace {

namespace fs = std::filesystem;

constexpr const char* sonames[] = {"libnvrtc.so.13", "libnvrtc.so.12"};

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::vector<fs::path> toolkits() {
  std::vector<fs::path> found;
  for (const char* const name : {"CUDA_HOME", "CUDA_PATH"}) {
    if (std::string value = variable(name); !value.empty()) found.emplace_back(std::move(value));
  }
  found.emplace_back("/usr/local/cuda");
  return found;
}

std::vector<fs::path> library_folders() {
  std::vector<fs::path> folders;
  const std::string listed = variable("LD_LIBRARY_PATH");
  for (std::string_view rest = listed; !rest.empty();) {
    const std::size_t end = rest.find(':');
    if (end != 0) folders.emplace_back(rest.substr(0, end));
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  for (const fs::path& toolkit : toolkits()) folders.push_back(toolkit / "lib64");
  for (const char* const folder :
       {"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib"}) {
    folders.emplace_back(folder);
  }
  return folders;
}

[[noreturn]] void fail_without(const std::string& reason) {
  throw failure{obstacle::no_compiler,
                "no compiler for a GPU is on this machine: install NVRTC (libnvrtc.so.13 or .12, "
                "of the CUDA toolkit or of the "
                "package nvidia-cuda-nvrtc), or name the library in WEIR_NVRTC (" +
                    reason + "); cubins, fatbins and PTX load without it",
                "", ""};
}

nvrtc_functions open_nvrtc() {
  const std::string file = find_nvrtc();
  void* library = nullptr;
  if (!file.empty()) {
    library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  } else {
    for (const char* const name : sonames) {
      if (library == nullptr) library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
    }
  }
  if (library == nullptr) fail_without(::dlerror());
  nvrtc_functions all{};
  const auto look_up = [&](auto& function, const char* name) {
    function =
        reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, name));
    if (function == nullptr) fail_without(file + " has no " + name);
  };
#define WEIR_LOOK_UP(name) look_up(all.name, #name)
  WEIR_LOOK_UP(nvrtcGetErrorString);
  WEIR_LOOK_UP(nvrtcVersion);
  WEIR_LOOK_UP(nvrtcCreateProgram);
  WEIR_LOOK_UP(nvrtcDestroyProgram);
  WEIR_LOOK_UP(nvrtcCompileProgram);
  WEIR_LOOK_UP(nvrtcGetPTXSize);
  WEIR_LOOK_UP(nvrtcGetPTX);
  WEIR_LOOK_UP(nvrtcGetCUBINSize);
  WEIR_LOOK_UP(nvrtcGetCUBIN);
  WEIR_LOOK_UP(nvrtcGetProgramLogSize);
  WEIR_LOOK_UP(nvrtcGetProgramLog);
  WEIR_LOOK_UP(nvrtcAddNameExpression);
  WEIR_LOOK_UP(nvrtcGetLoweredName);
  WEIR_LOOK_UP(nvrtcGetNumSupportedArchs);
  WEIR_LOOK_UP(nvrtcGetSupportedArchs);
#undef WEIR_LOOK_UP
  return all;
}

}  // namespace

std::string find_nvrtc() {
  if (std::string named = variable("WEIR_NVRTC"); !named.empty()) return named;
  std::error_code failed;
  // The newer one wherever it is.
  for (const char* const name : sonames) {
    for (const fs::path& folder : library_folders()) {
      if (fs::exists(folder / name, failed)) return folder / name;
    }
  }
  return {};
}

std::vector<std::string> toolkit_include_paths(const std::string& nvrtc_file) {
  std::vector<fs::path> folders;
  if (!nvrtc_file.empty()) {
    std::error_code failed;
    const fs::path real = fs::canonical(nvrtc_file, failed);
    // lib64 is mostly a link to targets/x86_64-linux/lib, beside which the headers are; with pip
    // they are beside it too.
    if (!failed) folders.push_back(real.parent_path().parent_path() / "include");
  }
  for (const fs::path& toolkit : toolkits()) folders.push_back(toolkit / "include");
  std::error_code failed;
  for (const fs::path& folder : folders) {
    if (!fs::exists(folder / "cuda_fp16.h", failed)) continue;
    std::vector<std::string> paths{folder};
    if (fs::exists(folder / "cccl", failed)) paths.push_back(folder / "cccl");
    return paths;
  }
  return {};
}

const nvrtc_functions& nvrtc() {
  // Throws again at each call where there is none.
  static const nvrtc_functions all = open_nvrtc();
  return all;
}

}  // namespace weir::compile
