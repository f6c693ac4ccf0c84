// SPDX-License-Identifier: Apache-2.0
// The tool's files: which files may be staged, and an output that is complete or absent.
#include "failure.hpp"
#include "input_file.hpp"
#include "output_file.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <vector>

namespace weir::tool {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

class ToolFiles : public testing::Test {
 protected:
  ToolFiles() { std::filesystem::create_directory(folder_); }
  ~ToolFiles() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string path(const std::string& name) const { return folder_ / name; }
  [[nodiscard]] std::string write(const std::string& name, const std::string& text) const {
    std::ofstream{path(name)} << text;
    return path(name);
  }
  [[nodiscard]] std::string contents(const std::string& name) const {
    std::ifstream file{path(name)};
    return {std::istreambuf_iterator<char>{file}, {}};
  }
  [[nodiscard]] std::ptrdiff_t file_count() const {
    return std::distance(std::filesystem::directory_iterator{folder_}, {});
  }

 private:
  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("weir-files-" + std::to_string(::getpid()));
};

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span{text});
}

TEST_F(ToolFiles, InputIsReadAtTheRequestedPosition) {
  const input_file file{write("in", "abcdef")};
  std::vector<std::byte> part(3);
  file.read(2, part);
  EXPECT_EQ(file.size(), 6u);
  EXPECT_EQ(static_cast<char>(part[0]), 'c');
  EXPECT_EQ(static_cast<char>(part[2]), 'e');
}

TEST_F(ToolFiles, AShrinkingInputFileIsReported) {
  const input_file file{write("in", "abcdef")};
  std::filesystem::resize_file(path("in"), 4);
  std::vector<std::byte> all(6);
  EXPECT_THAT([&] { file.read(0, all); },
              ThrowsMessage<failure>(
                  HasSubstr("ended after 4 of its 6 bytes: it was truncated while it was read")));
}

TEST_F(ToolFiles, OutputAppearsOnlyWhenComplete) {
  output_file file{path("out"), 6};
  file.write(bytes_of("abc"));
  EXPECT_FALSE(std::filesystem::exists(path("out")));
  file.write(bytes_of("def"));
  file.commit();
  EXPECT_EQ(contents("out"), "abcdef");
  EXPECT_EQ(file_count(), 1);
}

TEST_F(ToolFiles, AbandonedOutputLeavesTheOldFile) {
  static_cast<void>(write("out", "before"));
  {
    output_file file{path("out"), 3};
    file.write(bytes_of("abc"));
  }
  EXPECT_EQ(contents("out"), "before");
  EXPECT_EQ(file_count(), 1);
}

TEST_F(ToolFiles, OutputThroughASymbolicLinkKeepsTheLink) {
  static_cast<void>(write("target", "before"));
  std::filesystem::create_symlink(path("target"), path("out"));
  output_file file{path("out"), 3};
  file.write(bytes_of("abc"));
  file.commit();
  EXPECT_TRUE(std::filesystem::is_symlink(path("out")));
  EXPECT_EQ(contents("target"), "abc");
}

TEST_F(ToolFiles, OutputKeepsThePermissionsOfTheReplacedFile) {
  static_cast<void>(write("out", "before"));
  const auto mode = std::filesystem::perms::owner_read | std::filesystem::perms::owner_write;
  std::filesystem::permissions(path("out"), mode);
  output_file file{path("out"), 3};
  file.write(bytes_of("abc"));
  file.commit();
  EXPECT_EQ(std::filesystem::status(path("out")).permissions(), mode);
}

void write_a_part_and_end(const std::string& path) {
  output_file file{path, 3};
  file.write(bytes_of("a"));
  ::raise(SIGTERM);
}

TEST_F(ToolFiles, TemporaryOutputIsRemovedOnASignal) {
  EXPECT_EXIT(write_a_part_and_end(path("out")), testing::KilledBySignal(SIGTERM), "");
  EXPECT_EQ(file_count(), 0);
}

}  // namespace
}  // namespace weir::tool
