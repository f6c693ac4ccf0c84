// SPDX-License-Identifier: Apache-2.0
// tools/weir/output_file.cpp - a file that is written completely or not at all.
#include "output_file.hpp"

#include "failure.hpp"
#include "job_options.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace weir::tool {
namespace {

// The file that a signal handler removes. A handler may not allocate memory, so the name is stored
// outside of the object.
std::array<char, PATH_MAX + 1> doomed_path{};
// True while doomed_path is the name of an incomplete file.
std::atomic<bool> doomed{false};
static_assert(std::atomic<bool>::is_always_lock_free);

extern "C" void remove_and_die(int signal) {
  if (doomed.load()) ::unlink(doomed_path.data());
  // SA_RESETHAND has restored the default action, which ends the program when this handler returns.
  ::raise(signal);
}

void remove_on_signals(const std::string& path) {
  std::strncpy(doomed_path.data(), path.c_str(), PATH_MAX);
  struct sigaction action {};
  action.sa_handler = remove_and_die;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    struct sigaction before {};
    ::sigaction(signal, &action, &before);
    if (before.sa_handler == SIG_IGN)
      ::sigaction(signal, &before, nullptr);  // ignored under nohup and in background jobs
  }
  doomed = true;
}

// Returns the path with symbolic links resolved; `path` itself if the file does not exist.
std::string follow_links(const std::string& path) {
  char* const real = ::realpath(path.c_str(), nullptr);
  if (real == nullptr) return path;
  std::string followed{real};
  std::free(real);
  return followed;
}

mode_t file_mode() {
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return 0666 & ~mask;
}

}  // namespace

output_file::output_file(std::string path, std::uint64_t size)
    : path_{std::move(path)}, target_{follow_links(path_)} {
  // With the signal ignored, exceeding the limit on file sizes gives an error number instead.
  std::signal(SIGXFSZ, SIG_IGN);
  if (is_standard_stream(path_)) {
    file_ = unique_fd{::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0)};
    if (!file_) throw failure{"cannot write to standard output", errno};
    return;
  }
  struct stat about {};
  const bool exists = ::stat(target_.c_str(), &about) == 0;
  if (exists && S_ISDIR(about.st_mode))
    throw failure{fmt::format("cannot write '{}': it is a directory", path_)};
  if (exists && !S_ISREG(about.st_mode)) {
    file_ = unique_fd{::open(target_.c_str(), O_WRONLY | O_CLOEXEC)};
    if (!file_) throw failure{fmt::format("cannot write '{}'", path_), errno};
    return;
  }
  if (exists && ::access(target_.c_str(), W_OK) != 0)
    throw failure{fmt::format("cannot write '{}'", path_), errno};
  std::string name = target_ + ".XXXXXX";
  file_ = unique_fd{::mkostemp(name.data(), O_CLOEXEC)};
  if (!file_) throw failure{fmt::format("cannot write '{}'", path_), errno};
  temporary_ = std::move(name);
  remove_on_signals(temporary_);
  ::fchmod(file_.get(), exists ? about.st_mode & 07777 : file_mode());
  if (size != 0 && ::fallocate(file_.get(), 0, 0, static_cast<off_t>(size)) != 0 &&
      errno != EOPNOTSUPP && errno != ENOSYS) {
    const int reason = errno;
    // The destructor does not run, because the constructor has not finished.
    ::unlink(temporary_.c_str());
    doomed = false;
    throw failure{fmt::format("cannot write {} bytes to '{}'", size, path_), reason};
  }
}

output_file::~output_file() {
  if (temporary_.empty()) return;
  ::unlink(temporary_.c_str());
  doomed = false;
}

void output_file::write(std::span<const std::byte> bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t put = ::write(file_.get(), bytes.data() + done, bytes.size() - done);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) throw failure{fmt::format("cannot write '{}'", path_), errno};
    done += static_cast<std::size_t>(put);
  }
}

void output_file::commit() {
  if (!file_.close()) throw failure{fmt::format("cannot write '{}'", path_), errno};
  if (temporary_.empty()) return;
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) {
    throw failure{fmt::format("cannot write '{}'", path_), errno};
  }
  doomed = false;
  temporary_.clear();
}

}  // namespace weir::tool
