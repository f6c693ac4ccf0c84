// SPDX-License-Identifier: Apache-2.0
// tools/weir/run/run_plan.cpp - orders the runs, and prepares their environment.
#include "run/run_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>

namespace weir::tool::run {
namespace {

namespace fs = std::filesystem;

// Returns the folder of the drop-in: of the installation, or of the build tree. Empty if there is
// none.
std::string dropin_folder() {
  std::error_code ignored;
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  for (const char* const place : {WEIR_DROPIN_FOLDER, "../../dropin"}) {
    const fs::path folder = (program / place).lexically_normal();
    if (fs::exists(folder / "libcuda.so.1", ignored)) return folder;
  }
  return {};
}

bool is_plain(char c) {
  constexpr std::string_view others = "_-./:=,+@%^";
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         others.find(c) != others.npos;
}

// Returns the word with quotes if a shell would change it.
std::string quoted(const std::string& word) {
  if (!word.empty() && std::ranges::all_of(word, is_plain)) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string{"'\\''"} : std::string{c};
  return text + "'";
}

}  // namespace

std::vector<planned_run> runs_in_turn(const std::vector<run_group>& groups) {
  std::vector<planned_run> runs;
  std::size_t longest = 1;
  for (const run_group& group : groups) longest = std::max(longest, group.numbers.size());
  for (std::size_t i = 0; i < longest; ++i) {
    for (const run_group& group : groups) {
      if (i == 0 && group.numbers.empty()) runs.push_back({&group, 0});
      if (i < group.numbers.size()) runs.push_back({&group, group.numbers[i]});
    }
  }
  return runs;
}

std::vector<variable> embedded_environment() {
  const std::string folder = dropin_folder();
  if (folder.empty()) return {{"WEIR_DRIVER", "embedded"}};
  const char* const before = std::getenv("LD_LIBRARY_PATH");
  const bool has_before = before != nullptr && *before != '\0';
  return {{"LD_LIBRARY_PATH", has_before ? folder + ':' + before : folder},
          {"WEIR_DRIVER", "auto"}};
}

std::string shell_line(const std::vector<variable>& environment,
                       const std::vector<std::string>& command) {
  std::string line;
  for (const auto& [name, value] : environment) line += name + '=' + quoted(value) + ' ';
  for (const std::string& word : command) line += quoted(word) + ' ';
  line.pop_back();
  return line;
}

}  // namespace weir::tool::run
