// SPDX-License-Identifier: Apache-2.0
// tools/weir/input_file.hpp - the input file of a command.
#pragma once

#include "unique_fd.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace weir::tool {

// A non-empty regular file, open for reading. The size is the one at the time of opening.
class input_file {
 public:
  // Throws failure for a missing or unreadable file, a directory, a device and an empty file.
  explicit input_file(std::string path);

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }

  // Fills `to` with the bytes from `position` on. Throws failure if the file has become shorter or
  // cannot be read.
  void read(std::uint64_t position, std::span<std::byte> to) const;

 private:
  std::string path_;
  unique_fd file_;
  std::uint64_t size_ = 0;
};

// The default input: the compiler's program cc1plus, a real file of some 30 MB on every machine
// that builds C++. Throws failure if it is not found.
[[nodiscard]] std::string default_input();

}  // namespace weir::tool
