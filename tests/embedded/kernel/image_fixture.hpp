// SPDX-License-Identifier: Apache-2.0
// image_fixture.hpp - module images for tests, and modules loaded from them.
#pragma once

#include <gmock/gmock.h>

#include <cstddef>
#include <fstream>
#include <iterator>
#include <string>

#include "embedded/memory/memory_fixture.hpp"

namespace weir::embedded {

// Returns the contents of an image file of the build (images/).
inline std::string read_image(const char* path) {
  std::ifstream file{path, std::ios::binary};
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator{file}, {}};
}

// Returns the image that most tests load: kernels add, reverse, count, in_cluster; variables
// counter (17), table, shared_with_host.
inline const std::string& numbers_image() {
  static const std::string image = read_image(WEIR_IMAGE_NUMBERS);
  return image;
}

// Loads an image into the current context for the lifetime of this object.
class test_module {
 public:
  test_module() {
    EXPECT_EQ(driver.cuModuleLoadData(&handle_, numbers_image().data()), CUDA_SUCCESS);
  }
  ~test_module() {
    if (handle_ != nullptr) unload();
  }
  test_module(const test_module&) = delete;
  test_module& operator=(const test_module&) = delete;

  operator CUmodule() const { return handle_; }
  void unload() {
    EXPECT_EQ(driver.cuModuleUnload(handle_), CUDA_SUCCESS);
    handle_ = nullptr;
  }
  [[nodiscard]] CUfunction function(const char* name) const {
    CUfunction found = nullptr;
    EXPECT_EQ(driver.cuModuleGetFunction(&found, handle_, name), CUDA_SUCCESS) << name;
    return found;
  }
  [[nodiscard]] CUdeviceptr variable(const char* name, std::size_t bytes) const {
    CUdeviceptr found = 0;
    std::size_t size = 0;
    EXPECT_EQ(driver.cuModuleGetGlobal_v2(&found, &size, handle_, name), CUDA_SUCCESS) << name;
    EXPECT_EQ(size, bytes) << name;
    return found;
  }

 private:
  CUmodule handle_ = nullptr;
};

}  // namespace weir::embedded
