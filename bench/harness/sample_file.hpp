// SPDX-License-Identifier: Apache-2.0
// harness/sample_file.hpp - a file to stage that is in memory, not on a disk.
#pragma once

#include "unique_fd.hpp"

#include <cstdint>
#include <string>

namespace bench {

// A file of `size` bytes, each different from its neighbors, in host memory: reading it takes equal
// time each time. Removed with this object.
class sample_file {
 public:
  explicit sample_file(std::uint64_t bytes);

  [[nodiscard]] int descriptor() const { return file_.get(); }
  // Returns a path by which this process can open it.
  [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(file_.get()); }

 private:
  weir::tool::unique_fd file_;
};

}  // namespace bench
