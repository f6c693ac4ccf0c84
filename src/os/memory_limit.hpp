// SPDX-License-Identifier: Apache-2.0
// os/memory_limit.hpp - how much memory this process may use.
#pragma once

#include <cstddef>
#include <filesystem>

namespace weir::os {

// Returns the lowest memory limit of the control groups of this process, in bytes: the limit of its
// container, for example. Reads both versions of control groups. Returns the largest value if there
// is no limit. `root` is the folder that has proc and sys; another one is for tests. Throws
// std::bad_alloc.
[[nodiscard]] std::size_t control_group_limit(const std::filesystem::path& root = "/");

// Returns the bytes of physical memory that this process may use: those of the machine, or
// control_group_limit() if that is less. Returns 1 GiB if the system does not report them. Throws
// std::bad_alloc.
[[nodiscard]] std::size_t usable_memory();

}  // namespace weir::os
