// compile/host_identity.cpp - the compiler by its file, the processor by what it says of itself. No program is started:
// a module that is in the cache has to be found in less time than that takes.
#include "compile/host_identity.hpp"

#include <sys/auxv.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>

#include "compile/device_headers.hpp"
#include "compile/process.hpp"
#include "compile/request.hpp"

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

namespace weir::compile {
namespace {

std::string processor() {
  std::string text = std::to_string(getauxval(AT_HWCAP)) + "." + std::to_string(getauxval(AT_HWCAP2));
#if defined(__x86_64__) || defined(__i386__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) != 0)
    text += "." + std::to_string(a) + "." + std::to_string(c) + "." + std::to_string(d);
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) != 0)
    text += "." + std::to_string(b) + "." + std::to_string(c) + "." + std::to_string(d);
#endif
  return text;
}

}  // namespace

std::string host_compiler() {
  const char* const chosen = std::getenv("WEIR_CXX");
  if (chosen != nullptr && *chosen != '\0') {
    std::string path = find_program(chosen);
    if (path.empty())
      throw failure("WEIR_CXX is '" + std::string(chosen) +
                        "', and there is no such program; name g++ or clang++ there, or unset it",
                    {}, chosen);
    return path;
  }
  for (const char* const name : {"g++", "clang++", "c++"})
    if (std::string path = find_program(name); !path.empty()) return path;
  throw failure(
      "no C++ compiler on this machine: kernels for the embedded device need one. Install g++ or clang++ (Debian and "
      "Ubuntu: apt install g++), or name one in WEIR_CXX",
      {}, {});
}

std::string host_identity() {
  const std::string path = host_compiler();
  std::error_code ignored;
  const std::filesystem::path file = std::filesystem::canonical(path, ignored);
  struct stat status {};
  stat(file.c_str(), &status);
  return "host " + file.string() + " " + std::to_string(status.st_size) + " " + std::to_string(status.st_mtim.tv_sec) +
         "." + std::to_string(status.st_mtim.tv_nsec) + " " + processor() + " " +
         std::to_string(device_headers_hash()) + " " + std::string{translator_version()};
}

}  // namespace weir::compile
