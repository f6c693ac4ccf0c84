// SPDX-License-Identifier: Apache-2.0
// api/core/atomic_file.cpp - writes a file under a temporary name and renames it when it is
// complete.
#include "api/core/atomic_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstdio>
#include <system_error>
#include <utility>

namespace weir::detail {
namespace {

constexpr mode_t all_may_write = 0666;  // reduced by the umask of the process
constexpr mode_t permissions = 07777;

class open_file {
 public:
  open_file(const char* path, int flags, mode_t mode = 0)
      : descriptor_{::open(path, flags | O_CLOEXEC, mode)} {}
  open_file(const open_file&) = delete;
  open_file& operator=(const open_file&) = delete;
  ~open_file() { static_cast<void>(close()); }

  [[nodiscard]] int get() const noexcept { return descriptor_; }
  [[nodiscard]] int write(std::string_view text) const noexcept {
    while (!text.empty()) {
      const ssize_t put = ::write(descriptor_, text.data(), text.size());
      if (put < 0 && errno != EINTR) return errno;
      if (put > 0) text.remove_prefix(static_cast<std::size_t>(put));
    }
    return 0;
  }
  // Returns 0 or errno. A write error may be reported as late as here.
  [[nodiscard]] int close() noexcept {
    const int descriptor = std::exchange(descriptor_, -1);
    return descriptor < 0 || ::close(descriptor) == 0 ? 0 : errno;
  }

 private:
  int descriptor_;
};

// Returns the path with symbolic links resolved. The file need not exist. If the links form a
// cycle, returns one of them.
std::string follow_links(std::string path) {
  constexpr int max_links = 40;  // the limit of the kernel
  for (int links = 0; links < max_links; ++links) {
    char target[PATH_MAX];
    const ssize_t length = ::readlink(path.c_str(), target, sizeof target);
    if (length <= 0 || length == sizeof target) return path;
    const std::string_view next{target, static_cast<std::size_t>(length)};
    const std::size_t folder = path.rfind('/') + 1;  // 0 if there is no slash
    path.replace(next.front() == '/' ? 0 : folder, std::string::npos, next);
  }
  return path;
}

int write_in_place(const std::string& path, std::string_view text) {
  open_file file{path.c_str(), O_WRONLY};
  if (file.get() < 0) return errno;
  const int answer = file.write(text);
  const int end = file.close();
  return answer != 0 ? answer : end;
}

}  // namespace

int write_file_atomically(const std::string& path, std::string_view text) {
  const std::string target = follow_links(path);
  struct ::stat status = {};
  const bool exists = ::stat(target.c_str(), &status) == 0;
  if (!exists && errno != ENOENT) return errno;
  if (exists && S_ISDIR(status.st_mode)) return EISDIR;
  if (exists && !S_ISREG(status.st_mode)) return write_in_place(target, text);
  if (exists && ::access(target.c_str(), W_OK) != 0) return errno;

  static std::atomic<unsigned> files{0};
  const std::string name = fmt::format("{}.{}.{}", target, ::getpid(), files.fetch_add(1));
  open_file file{name.c_str(), O_WRONLY | O_CREAT | O_EXCL, all_may_write};
  if (file.get() < 0) return errno;
  int answer = file.write(text);
  if (answer == 0 && exists && ::fchmod(file.get(), status.st_mode & permissions) != 0)
    answer = errno;
  const int end = file.close();
  if (answer == 0) answer = end;
  if (answer == 0 && std::rename(name.c_str(), target.c_str()) != 0) answer = errno;
  if (answer != 0) ::unlink(name.c_str());
  return answer;
}

void write_text_file(const std::string& path, std::string_view text, const char* call,
                     subject object, call_site at) {
  const int answer = write_file_atomically(path, text);
  if (answer == 0) return;
  throw_error(errc::operating_system, call, to_text(object),
              fmt::format("cannot write '{}': {}", path, std::generic_category().message(answer)),
              at);
}

}  // namespace weir::detail
