// SPDX-License-Identifier: Apache-2.0
// sample.hpp - sample files for the tests of the tool's jobs.
#pragma once

#include "checksum.hpp"
#include "unique_fd.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace weir::tool {

// A file in memory, removed with this object.
class sample {
 public:
  explicit sample(std::size_t size) : fd_{::memfd_create("sample", MFD_CLOEXEC)}, bytes_(size) {
    std::minstd_rand random{static_cast<unsigned>(size)};
    for (std::byte& b : bytes_) b = static_cast<std::byte>(random() >> 8);
    if (::write(fd_.get(), bytes_.data(), size) != static_cast<ssize_t>(size))
      throw std::runtime_error{"no sample"};
  }
  [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(fd_.get()); }
  [[nodiscard]] const std::vector<std::byte>& bytes() const { return bytes_; }
  [[nodiscard]] std::uint32_t crc() const { return crc32_of(0, bytes_); }

  void shrink(std::size_t size) {
    if (::ftruncate(fd_.get(), static_cast<off_t>(size)) != 0)
      throw std::runtime_error{"it does not shrink"};
  }

 private:
  unique_fd fd_;
  std::vector<std::byte> bytes_;
};

}  // namespace weir::tool
