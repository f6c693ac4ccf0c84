// SPDX-License-Identifier: Apache-2.0
// tools/weir/run/child_run.cpp - starts a child process, waits for it with a limit, and reads its
// output.
#include "run/child_run.hpp"

#include "failure.hpp"
#include "unique_fd.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>

namespace weir::tool::run {
namespace {

// The tool's environment with some variables replaced, as an array for posix_spawn.
class child_environment {
 public:
  explicit child_environment(const std::vector<variable>& replaced) {
    for (char** entry = environ; *entry != nullptr; ++entry) {
      const std::string_view text{*entry};
      const std::string_view name = text.substr(0, text.find('='));
      if (std::ranges::none_of(replaced, [&](const variable& v) { return v.first == name; }))
        entries_.emplace_back(text);
    }
    for (const auto& [name, value] : replaced) entries_.push_back(name + '=' + value);
    for (std::string& entry : entries_) pointers_.push_back(entry.data());
    pointers_.push_back(nullptr);
  }
  [[nodiscard]] char* const* get() const noexcept { return pointers_.data(); }

 private:
  std::vector<std::string> entries_;
  std::vector<char*> pointers_;
};

// Standard output and standard error go to a file; the child leads a process group of its own.
class spawn_settings {
 public:
  explicit spawn_settings(int output) {
    ::posix_spawn_file_actions_init(&files_);
    ::posix_spawn_file_actions_adddup2(&files_, output, STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&files_, output, STDERR_FILENO);
    ::posix_spawnattr_init(&attributes_);
    ::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETPGROUP);
  }
  spawn_settings(const spawn_settings&) = delete;
  spawn_settings& operator=(const spawn_settings&) = delete;
  ~spawn_settings() {
    ::posix_spawn_file_actions_destroy(&files_);
    ::posix_spawnattr_destroy(&attributes_);
  }
  [[nodiscard]] const posix_spawn_file_actions_t* files() const noexcept { return &files_; }
  [[nodiscard]] const posix_spawnattr_t* attributes() const noexcept { return &attributes_; }

 private:
  posix_spawn_file_actions_t files_{};
  posix_spawnattr_t attributes_{};
};

pid_t start(const std::vector<std::string>& command, const std::vector<variable>& environment,
            int output) {
  std::vector<std::string> words = command;
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const child_environment variables{environment};
  const spawn_settings settings{output};
  pid_t child = 0;
  const int answer = ::posix_spawnp(&child, arguments[0], settings.files(), settings.attributes(),
                                    arguments.data(), variables.get());
  if (answer != 0) throw failure{fmt::format("cannot run '{}'", command.front()), answer};
  return child;
}

// Returns true if the process ends within the limit.
bool ends_within(pid_t child, std::chrono::seconds limit) {
  const unique_fd process{static_cast<int>(::syscall(SYS_pidfd_open, child, 0))};
  if (!process) return true;  // an old kernel: waits without a limit
  const auto end = std::chrono::steady_clock::now() + limit;
  while (true) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    if (left.count() <= 0) return false;
    pollfd waiting{process.get(), POLLIN, 0};
    const int ready =
        ::poll(&waiting, 1, static_cast<int>(std::min<long long>(left.count(), 1 << 30)));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) throw failure{"cannot wait for a program", errno};
  }
}

std::string read_all(int file) {
  std::string text;
  std::array<char, 1 << 14> part;
  while (true) {
    const ssize_t size = ::pread(file, part.data(), part.size(), static_cast<off_t>(text.size()));
    if (size <= 0) return text;
    text.append(part.data(), static_cast<std::size_t>(size));
  }
}

}  // namespace

std::string child_outcome::text(std::chrono::seconds limit) const {
  switch (how) {
    case ending::exited: return fmt::format("ended with status {}", status);
    case ending::signalled:
      return fmt::format("was ended by signal {} ({})", status, ::strsignal(status));
    case ending::timed_out: break;
  }
  return fmt::format("did not end within {} s", limit.count());
}

child_outcome run_child(const std::vector<std::string>& command,
                        const std::vector<variable>& environment, std::chrono::seconds limit) {
  const unique_fd output{::memfd_create("output", MFD_CLOEXEC)};
  if (!output) throw failure{"there is no file for the output of a program", errno};
  const pid_t child = start(command, environment, output.get());
  const bool ended = ends_within(child, limit);
  ::kill(-child, SIGKILL);  // also processes that the child has left behind
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) throw failure{"cannot wait for a program", errno};
  }
  child_outcome outcome;
  outcome.output = read_all(output.get());
  if (!ended) {
    outcome.how = child_outcome::ending::timed_out;
  } else if (WIFSIGNALED(status)) {
    outcome.how = child_outcome::ending::signalled;
    outcome.status = WTERMSIG(status);
  } else {
    outcome.status = WEXITSTATUS(status);
  }
  return outcome;
}

}  // namespace weir::tool::run
