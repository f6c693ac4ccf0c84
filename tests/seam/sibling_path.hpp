// seam/sibling_path.hpp - files that lie beside the running program.
#pragma once

#include <filesystem>
#include <string>

// Tests find their helpers from where they are themselves, so that the folder can be carried to
// another machine.
inline std::string sibling_path(const char* name) {
  return (std::filesystem::read_symlink("/proc/self/exe").parent_path() / name).string();
}
