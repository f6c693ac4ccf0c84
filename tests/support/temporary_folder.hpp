// SPDX-License-Identifier: Apache-2.0
// support/temporary_folder.hpp - a folder for the files of one test, unique among processes.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>

#include <gtest/gtest.h>

namespace weir::test {

// Empty at first, and removed with this object. Test programs run concurrently, each with several
// schedules, so a fixed name would be shared.
class temporary_folder {
 public:
  temporary_folder() {
    std::string name = testing::TempDir() + "weir-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr)
      throw std::runtime_error{"no folder can be made as " + name};
    path_ = name;
  }
  temporary_folder(const temporary_folder&) = delete;
  temporary_folder& operator=(const temporary_folder&) = delete;
  ~temporary_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace weir::test
