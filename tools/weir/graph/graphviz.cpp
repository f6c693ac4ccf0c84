// SPDX-License-Identifier: Apache-2.0
// tools/weir/graph/graphviz.cpp - runs the program `dot` as a child process.
#include "graph/graphviz.hpp"

#include "failure.hpp"
#include "unique_fd.hpp"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>

namespace weir::tool {
namespace {

// The redirections of a child's standard streams.
class child_files {
 public:
  child_files() { ::posix_spawn_file_actions_init(&actions_); }
  child_files(const child_files&) = delete;
  child_files& operator=(const child_files&) = delete;
  ~child_files() { ::posix_spawn_file_actions_destroy(&actions_); }

  void redirect(int parent_fd, int child_fd) {
    ::posix_spawn_file_actions_adddup2(&actions_, parent_fd, child_fd);
  }
  [[nodiscard]] const posix_spawn_file_actions_t* get() const noexcept { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

// The first 2000 bytes of a file, without newlines at the end.
std::string text_of(int file) {
  std::array<char, 2000> text;
  const ssize_t size = ::pread(file, text.data(), text.size(), 0);
  std::string all{text.data(), size < 0 ? 0 : static_cast<std::size_t>(size)};
  while (!all.empty() && all.back() == '\n') all.pop_back();
  return all;
}

// A file without a name that holds the text.
unique_fd file_with(std::string_view text) {
  unique_fd file{::memfd_create("a graph", MFD_CLOEXEC)};
  if (!file) throw failure{"there is no file for the input of 'dot'", errno};
  for (std::size_t written = 0; written < text.size();) {
    const ssize_t size = ::pwrite(file.get(), text.data() + written, text.size() - written,
                                  static_cast<off_t>(written));
    if (size < 0) throw failure{"cannot write the input of 'dot'", errno};
    written += static_cast<std::size_t>(size);
  }
  return file;
}

int wait_for(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) throw failure{"cannot wait for Graphviz's program 'dot'", errno};
  }
  return status;
}

}  // namespace

std::string run_dot(const std::string& format, std::string_view graph, int output) {
  const unique_fd input = file_with(graph);
  const unique_fd words{::memfd_create("dot's words", MFD_CLOEXEC)};
  if (!words) throw failure{"there is no file for what 'dot' says", errno};
  child_files files;
  files.redirect(input.get(), STDIN_FILENO);
  files.redirect(output, STDOUT_FILENO);
  files.redirect(words.get(), STDERR_FILENO);
  std::string name = "dot";
  std::string option = "-T" + format;
  char* const arguments[] = {name.data(), option.data(), nullptr};
  pid_t child = 0;
  if (const int answer =
          ::posix_spawnp(&child, name.c_str(), files.get(), nullptr, arguments, environ);
      answer != 0) {
    if (answer != ENOENT) throw failure{"cannot run Graphviz's program 'dot'", answer};
    throw failure{
        "Graphviz draws graphs, and there is no program 'dot' in PATH: install the package "
        "graphviz"};
  }
  const int status = wait_for(child);
  std::string dot_output = text_of(words.get());
  if (WIFSIGNALED(status))
    throw failure{fmt::format("'dot' was ended by signal {}: {}", WTERMSIG(status), dot_output)};
  if (WEXITSTATUS(status) != 0) {
    throw failure{fmt::format("'dot' ended with status {}: {}", WEXITSTATUS(status), dot_output)};
  }
  return dot_output;
}

}  // namespace weir::tool
