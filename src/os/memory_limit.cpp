// SPDX-License-Identifier: Apache-2.0
// os/memory_limit.cpp - reads the limits of control groups.
#include "os/memory_limit.hpp"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string_view>

namespace weir::os {

namespace {

constexpr std::size_t no_limit = std::numeric_limits<std::size_t>::max();

// Reads a file with a number of bytes. Any other text, such as "max", means no limit.
std::size_t read_limit(const std::filesystem::path& path) {
  std::ifstream file{path};
  std::string text;
  std::size_t bytes = 0;
  if (!(file >> text)) return no_limit;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), bytes);
  return error == std::errc{} ? bytes : no_limit;
}

// Returns the lowest limit of a group and of the groups that contain it. `group` is a path below
// the folder `hierarchy`. In a container, that folder may be the group itself.
std::size_t lowest_limit(const std::filesystem::path& hierarchy, std::string group,
                         const char* file) {
  std::size_t lowest = no_limit;
  for (;;) {
    const std::string below{group.empty() ? group : group.substr(1)};  // relative
    lowest = std::min(lowest, read_limit(hierarchy / below / file));
    const std::size_t slash = group.rfind('/');
    if (slash == std::string::npos) return lowest;
    group.resize(slash);
  }
}

// Returns true if a comma-separated list has the entry "memory".
bool names_memory(std::string_view controllers) noexcept {
  while (!controllers.empty()) {
    const std::size_t length = std::min(controllers.find(','), controllers.size());
    if (controllers.substr(0, length) == "memory") return true;
    controllers.remove_prefix(std::min(length + 1, controllers.size()));
  }
  return false;
}

}  // namespace

// Each line of /proc/self/cgroup is "hierarchy:controllers:group". Version 2 names no controllers.
std::size_t control_group_limit(const std::filesystem::path& root) {
  const std::filesystem::path folder = root / "sys/fs/cgroup";
  std::ifstream groups{root / "proc/self/cgroup"};
  std::size_t lowest = no_limit;
  for (std::string line; std::getline(groups, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string group = line.substr(second + 1);
    if (controllers.empty()) {
      lowest = std::min(lowest, lowest_limit(folder, group, "memory.max"));
    } else if (names_memory(controllers)) {
      lowest = std::min(lowest, lowest_limit(folder / "memory", group, "memory.limit_in_bytes"));
    }
  }
  return lowest;
}

std::size_t usable_memory() {
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page_size = sysconf(_SC_PAGESIZE);
  const std::size_t machine =
      pages <= 0 || page_size <= 0
          ? std::size_t{1} << 30
          : static_cast<std::size_t>(pages) * static_cast<std::size_t>(page_size);
  return std::min(machine, control_group_limit());
}

}  // namespace weir::os
