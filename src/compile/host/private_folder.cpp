// SPDX-License-Identifier: Apache-2.0
// compile/host/private_folder.cpp - mkdtemp, and everything below it removed.
#include "compile/host/private_folder.hpp"

#include <stdlib.h>

#include <cerrno>
#include <fstream>
#include <string>
#include <system_error>

namespace weir::compile {

private_folder::private_folder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "weir-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr)
    throw std::filesystem::filesystem_error("a temporary folder", pattern,
                                            std::error_code(errno, std::generic_category()));
  path_ = pattern;
}

private_folder::~private_folder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void private_folder::write(const std::filesystem::path& name, std::string_view text) const {
  const std::filesystem::path file = path_ / name;
  std::filesystem::create_directories(file.parent_path());
  errno = 0;
  std::ofstream stream(file, std::ios::binary);
  stream.write(text.data(), static_cast<std::streamsize>(text.size()));
  stream.close();
  if (!stream)
    throw std::filesystem::filesystem_error(
        "cannot write", file, std::error_code(errno != 0 ? errno : EIO, std::generic_category()));
}

}  // namespace weir::compile
