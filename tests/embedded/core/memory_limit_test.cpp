// SPDX-License-Identifier: Apache-2.0
// memory_limit_test.cpp - the limits of control groups, from files like those of the system.
#include "os/memory_limit.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <string>

namespace weir::embedded {
namespace {

class MemoryLimit : public testing::Test {
 protected:
  void SetUp() override {
    root_ = std::filesystem::temp_directory_path() / ("weir-limits-" + std::to_string(getpid()));
    std::filesystem::create_directories(root_);
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void write(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream{root_ / path} << text << '\n';
  }
  [[nodiscard]] std::size_t limit() const { return os::control_group_limit(root_); }

 private:
  std::filesystem::path root_;
};

TEST_F(MemoryLimit, WithoutControlGroupsThereIsNone) {
  EXPECT_EQ(limit(), std::numeric_limits<std::size_t>::max());
}

TEST_F(MemoryLimit, TheLowestOfTheEnclosingGroupsCounts) {
  write("proc/self/cgroup", "0::/outer/inner");
  write("sys/fs/cgroup/outer/inner/memory.max", "max");
  EXPECT_EQ(limit(), std::numeric_limits<std::size_t>::max());
  write("sys/fs/cgroup/outer/memory.max", "500000000");
  EXPECT_EQ(limit(), 500'000'000u);
  write("sys/fs/cgroup/outer/inner/memory.max", "300000000");
  EXPECT_EQ(limit(), 300'000'000u);
}

// A container sees its own group as the root, whatever the path in /proc says.
TEST_F(MemoryLimit, TheFirstVersionIsReadInAContainer) {
  write("proc/self/cgroup", "5:cpu,cpuacct:/docker/1234\n4:memory:/docker/1234");
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "500000000");
  EXPECT_EQ(limit(), 500'000'000u);
}

}  // namespace
}  // namespace weir::embedded
