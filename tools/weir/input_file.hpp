// input_file.hpp - the file that a job is about.
#pragma once

#include "unique_fd.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace weir::tool {

// A regular file with something in it, open for reading. Its size is what it was when it was
// opened.
class input_file {
 public:
  // Throws failure for what is no input: a missing or unreadable file, a directory or device, an
  // empty file.
  explicit input_file(std::string path);

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }

  // Fills all of `to` from that position. Throws failure if the file has become shorter, or cannot
  // be read.
  void read(std::uint64_t position, std::span<std::byte> to) const;

 private:
  std::string path_;
  unique_fd file_;
  std::uint64_t size_ = 0;
};

// The file that is taken where none is named: the compiler's own cc1plus, a real file of some 30 MB
// that every machine that builds C++ has. Throws failure where there is none.
[[nodiscard]] std::string default_input();

}  // namespace weir::tool
