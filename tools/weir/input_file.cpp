// SPDX-License-Identifier: Apache-2.0
// tools/weir/input_file.cpp - opens, checks and reads the input file.
#include "input_file.hpp"

#include "failure.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <glob.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <utility>

namespace weir::tool {
namespace {

bool is_regular_file(const std::string& path) {
  struct stat about {};
  return ::stat(path.c_str(), &about) == 0 && S_ISREG(about.st_mode);
}

// Returns the path of cc1plus that g++ reports: only the name cc1plus if g++ does not find it, and
// an empty text if there is no g++.
std::string cc1plus_of_compiler() {
  std::string path;
  std::FILE* const answer = ::popen("g++ -print-prog-name=cc1plus 2>/dev/null", "r");
  if (answer == nullptr) return path;
  std::array<char, 256> part{};
  while (std::fgets(part.data(), part.size(), answer) != nullptr) path += part.data();
  ::pclose(answer);
  while (!path.empty() && path.back() == '\n') path.pop_back();
  return path;
}

// Returns the path of the last cc1plus in the usual installation folders; empty if there is none.
std::string cc1plus_of_system() {
  ::glob_t found{};
  ::glob("/usr/lib/gcc/*/*/cc1plus", 0, nullptr, &found);
  ::glob("/usr/libexec/gcc/*/*/cc1plus", GLOB_APPEND, nullptr, &found);
  std::string path = found.gl_pathc > 0 ? found.gl_pathv[found.gl_pathc - 1] : "";
  ::globfree(&found);
  return path;
}

}  // namespace

input_file::input_file(std::string path) : path_{std::move(path)} {
  // O_NONBLOCK prevents open() from waiting for a writer if the file is a pipe.
  file_ = unique_fd{::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (!file_) throw failure{fmt::format("cannot open '{}'", path_), errno};
  struct stat about {};
  if (::fstat(file_.get(), &about) != 0)
    throw failure{fmt::format("cannot look at '{}'", path_), errno};
  if (S_ISDIR(about.st_mode))
    throw failure{fmt::format("'{}' is a directory; a file is needed", path_)};
  if (!S_ISREG(about.st_mode)) throw failure{fmt::format("'{}' is not a regular file", path_)};
  if (about.st_size == 0)
    throw failure{fmt::format("'{}' is empty: there is nothing in it", path_)};
  size_ = static_cast<std::uint64_t>(about.st_size);
}

void input_file::read(std::uint64_t position, std::span<std::byte> to) const {
  std::size_t done = 0;
  while (done < to.size()) {
    const ssize_t got = ::pread(file_.get(), to.data() + done, to.size() - done,
                                static_cast<off_t>(position + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw failure{fmt::format("cannot read '{}'", path_), errno};
    if (got == 0) {
      throw failure{
          fmt::format("'{}' ended after {} of its {} bytes: it was truncated while it was read",
                      path_, position + done, size_)};
    }
    done += static_cast<std::size_t>(got);
  }
}

std::string default_input() {
  for (const auto& path : {cc1plus_of_compiler(), cc1plus_of_system()}) {
    if (is_regular_file(path)) return path;
  }
  throw failure{
      "no file is named, and this machine has no cc1plus (part of g++) to take instead; name a "
      "FILE"};
}

}  // namespace weir::tool
