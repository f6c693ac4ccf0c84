// output_file.hpp - a file that the tool writes: what came back, or a picture.
#pragma once

#include "unique_fd.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace weir::tool {

// Written under another name in the same folder, and renamed when it is whole: under its own name
// there is the whole file or what was there before. The other file goes with this object, and also
// if a signal ends the program. What exists and is no regular file (/dev/null, a pipe) is written
// to as it is. One at a time in a process.
class output_file {
 public:
  // Takes the space at once where the file system can; 0 for a size that nobody knows yet. Throws
  // failure.
  output_file(std::string path, std::uint64_t size);
  output_file(const output_file&) = delete;
  output_file& operator=(const output_file&) = delete;
  ~output_file();

  // Appends. Throws failure.
  void write(std::span<const std::byte> bytes);

  // For others to write to. Valid until commit().
  [[nodiscard]] int descriptor() const noexcept { return file_.get(); }

  // The file is whole: gives it its name. Throws failure.
  void commit();

  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
  std::string target_;     // path_ with symbolic links followed, so that a link stays one
  std::string temporary_;  // empty where the target is written directly
  unique_fd file_;
};

}  // namespace weir::tool
