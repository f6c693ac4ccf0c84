// SPDX-License-Identifier: Apache-2.0
// compile/host/process.cpp - posix_spawn, and a pipe that is read until the program has closed it.
#include "compile/host/process.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

extern char** environ;

namespace weir::compile {
namespace {

// The program's environment with messages in English, which is what a log is searched for.
std::vector<std::string> environment() {
  std::vector<std::string> all;
  for (char** e = environ; *e != nullptr; ++e)
    if (!std::string_view{*e}.starts_with("LC_ALL=") &&
        !std::string_view{*e}.starts_with("LC_MESSAGES="))
      all.emplace_back(*e);
  all.emplace_back("LC_ALL=C");
  return all;
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> p;
  p.reserve(texts.size() + 1);
  for (const std::string& t : texts) p.push_back(const_cast<char*>(t.c_str()));
  p.push_back(nullptr);
  return p;
}

}  // namespace

process_result run_process(const std::vector<std::string>& arguments,
                           const std::filesystem::path& folder) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return {-1, std::strerror(errno)};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
#if defined(__GLIBC_PREREQ)
#if __GLIBC_PREREQ(2, 34)
  posix_spawn_file_actions_addclosefrom_np(
      &actions, STDERR_FILENO + 1);  // the program's files are not its own
#endif
#endif
  // A host program may block signals or ignore SIGPIPE; a compiler expects neither.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, defaults;
  sigemptyset(&none);
  sigemptyset(&defaults);
  sigaddset(&defaults, SIGPIPE);
  sigaddset(&defaults, SIGCHLD);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);

  const std::vector<std::string> variables = environment();
  pid_t child = 0;
  const int error = posix_spawn(&child, arguments[0].c_str(), &actions, &attributes,
                                pointers(arguments).data(), pointers(variables).data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  close(ends[1]);
  process_result result{-1, {}};
  if (error != 0) {
    close(ends[0]);
    result.output = std::strerror(error);
    return result;
  }
  char buffer[4096];
  for (;;) {
    const ssize_t n = read(ends[0], buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    result.output.append(buffer, static_cast<std::size_t>(n));
  }
  close(ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno == EINTR) continue;
    // A program that ignores SIGCHLD is not told how its children ended: the output file says
    // whether all went well.
    return {errno == ECHILD ? 0 : -1, std::move(result.output)};
  }
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

std::string find_program(const std::string& name) {
  const auto runs = [](const std::string& path) {
    return access(path.c_str(), X_OK) == 0 && !std::filesystem::is_directory(path);
  };
  if (name.find('/') != name.npos)
    return runs(name) ? std::filesystem::absolute(name).string() : std::string{};
  const char* const path = std::getenv("PATH");
  std::string_view rest = path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin";
  while (true) {
    const std::size_t colon = rest.find(':');
    const std::string folder(rest.substr(0, colon));
    std::string candidate = (folder.empty() ? "." : folder) + "/" + name;
    if (runs(candidate))
      return candidate.starts_with('/') ? candidate : std::filesystem::absolute(candidate).string();
    if (colon == rest.npos) return {};
    rest.remove_prefix(colon + 1);
  }
}

}  // namespace weir::compile
