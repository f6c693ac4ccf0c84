// SPDX-License-Identifier: Apache-2.0
// probe/images.cpp - modules for drivers that do not accept PTX.
#include "probe/images.hpp"

#include "probe/record.hpp"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <string>

namespace weir::conformance {
namespace {

constexpr const char* kFolder = "WEIR_PROBE_IMAGES";  // environment variable

std::string file_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Abort{"no_image"};
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

void set_images(const char* folder) { setenv(kFolder, folder, 1); }

const void* module_code(const char* name, const char* ptx) {
  const char* const folder = getenv(kFolder);
  if (folder == nullptr) return ptx;
  static std::mutex mutex;
  static std::map<std::string, std::string> images;
  const std::lock_guard lock(mutex);
  const auto found = images.find(name);
  if (found != images.end()) return found->second.data();
  return images.emplace(name, file_of(std::string(folder) + "/" + name + ".image"))
      .first->second.data();
}

}  // namespace weir::conformance
