// SPDX-License-Identifier: Apache-2.0
// compile/host/host_identity.cpp - the compiler by its file, the processor by what it says of
// itself. No program is started: a module that is in the cache has to be found in less time than
// that takes.
#include "compile/host/host_identity.hpp"

#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "compile/host/device_headers.hpp"
#include "compile/host/process.hpp"
#include "compile/request.hpp"

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

namespace weir::compile {
namespace {

std::string processor() {
  std::string text =
      std::to_string(getauxval(AT_HWCAP)) + "." + std::to_string(getauxval(AT_HWCAP2));
#if defined(__x86_64__) || defined(__i386__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) != 0)
    text += "." + std::to_string(a) + "." + std::to_string(c) + "." + std::to_string(d);
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) != 0)
    text += "." + std::to_string(b) + "." + std::to_string(c) + "." + std::to_string(d);
#endif
  return text;
}

std::string state_of(const std::filesystem::path& path) {
  std::error_code ignored;
  const std::filesystem::path file = std::filesystem::canonical(path, ignored);
  struct stat status {};
  stat(file.c_str(), &status);
  return " " + file.string() + " " + std::to_string(status.st_size) + " " +
         std::to_string(status.st_mtim.tv_sec) + "." + std::to_string(status.st_mtim.tv_nsec);
}

// Others of that name: the first may only pass on what it is asked, as ccache does.
std::string others_of(const std::filesystem::path& compiler) {
  std::string text;
  const char* const path = std::getenv("PATH");
  std::string_view rest = path != nullptr ? path : "";
  while (!rest.empty()) {
    const std::string_view folder = rest.substr(0, rest.find(':'));
    const std::filesystem::path other = std::filesystem::path{folder} / compiler.filename();
    if (!folder.empty() && other != compiler && access(other.c_str(), X_OK) == 0)
      text += state_of(other);
    rest.remove_prefix(std::min(folder.size() + 1, rest.size()));
  }
  return text;
}

// What the compilers look for their parts and headers by.
std::string compiler_environment() {
  std::string text;
  for (const char* const name :
       {"CPATH", "CPLUS_INCLUDE_PATH", "COMPILER_PATH", "GCC_EXEC_PREFIX", "LIBRARY_PATH"})
    if (const char* const value = std::getenv(name); value != nullptr)
      text += std::string(" ") + name + "=" + value;
  return text;
}

}  // namespace

std::string host_compiler() {
  const char* const chosen = std::getenv("WEIR_CXX");
  if (chosen != nullptr && *chosen != '\0') {
    std::string path = find_program(chosen);
    if (path.empty())
      throw failure(obstacle::no_compiler,
                    "WEIR_CXX is '" + std::string(chosen) +
                        "', and there is no such program; name g++ or clang++ there, or unset it",
                    {}, {});
    return path;
  }
  for (const char* const name : {"g++", "clang++", "c++"})
    if (std::string path = find_program(name); !path.empty()) return path;
  throw failure(obstacle::no_compiler,
                "no C++ compiler on this machine: kernels for the embedded device need one. "
                "Install g++ or clang++ (Debian and "
                "Ubuntu: apt install g++), or name one in WEIR_CXX",
                {}, {});
}

std::string host_identity() {
  const std::string path = host_compiler();
  return "host" + state_of(path) + others_of(path) + compiler_environment() + " " + processor() +
         " " + std::to_string(device_headers_hash()) + " " + std::string{translator_version()};
}

}  // namespace weir::compile
