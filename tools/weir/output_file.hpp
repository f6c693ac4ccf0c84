// SPDX-License-Identifier: Apache-2.0
// tools/weir/output_file.hpp - an output file of the tool.
#pragma once

#include "unique_fd.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace weir::tool {

// The bytes are written to a temporary file in the target's folder. The temporary file is renamed
// when it is complete, so the target is either complete or unchanged. The temporary file is removed
// with this object, and also if a signal ends the program. Standard output, which is named "-", and
// a target that is no regular file (/dev/null, a pipe) are written directly. At most one object in
// a process at a time.
class output_file {
 public:
  // Reserves `size` bytes if the file system can; 0 stands for an unknown size. Throws failure.
  output_file(std::string path, std::uint64_t size);
  output_file(const output_file&) = delete;
  output_file& operator=(const output_file&) = delete;
  ~output_file();

  // Appends. Throws failure.
  void write(std::span<const std::byte> bytes);

  // Returns the descriptor of the file, for callers that write without write(). Valid until
  // commit().
  [[nodiscard]] int descriptor() const noexcept { return file_.get(); }

  // Renames the complete file to its target. Throws failure.
  void commit();

  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
  std::string target_;     // path_ with symbolic links resolved, so that a link stays a link
  std::string temporary_;  // empty if the target is written directly
  unique_fd file_;
};

}  // namespace weir::tool
