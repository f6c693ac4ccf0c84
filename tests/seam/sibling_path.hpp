// SPDX-License-Identifier: Apache-2.0
// seam/sibling_path.hpp - paths of files beside the running program.
#pragma once

#include <filesystem>
#include <string>

// Tests find their helper programs relative to themselves, so that the folder can be moved to
// another machine.
inline std::string sibling_path(const char* name) {
  return (std::filesystem::read_symlink("/proc/self/exe").parent_path() / name).string();
}
