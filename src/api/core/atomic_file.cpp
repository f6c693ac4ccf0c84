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
#include <charconv>
#include <climits>
#include <cstddef>
#include <cstdio>
#include <optional>
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
  // A copy of the descriptor, which shares its position in the file.
  explicit open_file(int descriptor) : descriptor_{::fcntl(descriptor, F_DUPFD_CLOEXEC, 0)} {}
  open_file(const open_file&) = delete;
  open_file& operator=(const open_file&) = delete;
  ~open_file() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  [[nodiscard]] int get() const noexcept { return descriptor_; }
  // Returns 0, or the errno of the first failure. If the constructor has failed, call it directly
  // afterwards, because it then returns the errno of the constructor.
  [[nodiscard]] int write_and_close(std::string_view text) noexcept {
    if (descriptor_ < 0) return errno;
    while (!text.empty()) {
      const ssize_t put = ::write(descriptor_, text.data(), text.size());
      if (put < 0 && errno != EINTR) return errno;
      if (put > 0) text.remove_prefix(static_cast<std::size_t>(put));
    }
    // The operating system may report a write error only when the file is closed.
    return ::close(std::exchange(descriptor_, -1)) == 0 ? 0 : errno;
  }

 private:
  int descriptor_;
};

// Returns the descriptor that a path such as /dev/fd/3 names, or no value. /dev/stdout is a link to
// such a path.
std::optional<int> named_descriptor(std::string_view path) {
  for (const std::string_view folder : {"/proc/self/fd/", "/dev/fd/"}) {
    if (!path.starts_with(folder)) continue;
    const std::string_view digits = path.substr(folder.size());
    int descriptor = -1;
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), descriptor);
    if (error == std::errc{} && end == digits.data() + digits.size()) return descriptor;
  }
  return {};
}

// Returns the file that the path names if it is a symbolic link, or a link to a link. The file need
// not exist. The path of a descriptor is not resolved. If the links form a cycle, returns one.
std::string follow_links(std::string path) {
  constexpr int max_links = 40;  // the limit of the kernel
  for (int links = 0; links < max_links && !named_descriptor(path); ++links) {
    char target[PATH_MAX];
    const ssize_t length = ::readlink(path.c_str(), target, sizeof target);
    if (length <= 0 || length == sizeof target) return path;
    const std::string_view next{target, static_cast<std::size_t>(length)};
    const std::size_t folder = path.rfind('/') + 1;  // 0 if there is no slash
    path.replace(next.front() == '/' ? 0 : folder, std::string::npos, next);
  }
  return path;
}

// Returns 0 or errno.
int write_atomically(const std::string& path, std::string_view text) {
  const std::string target = follow_links(path);
  if (const auto descriptor = named_descriptor(target))
    return open_file{*descriptor}.write_and_close(text);
  struct ::stat status = {};
  const bool exists = ::stat(target.c_str(), &status) == 0;
  if (!exists && errno != ENOENT) return errno;
  if (exists && S_ISDIR(status.st_mode)) return EISDIR;
  if (exists && !S_ISREG(status.st_mode))  // a device or a pipe
    return open_file{target.c_str(), O_WRONLY}.write_and_close(text);
  // A rename would replace even a file that the process may not write.
  if (exists && ::access(target.c_str(), W_OK) != 0) return errno;

  static std::atomic<unsigned> files{0};
  const std::string name = fmt::format("{}.{}.{}", target, ::getpid(), files.fetch_add(1));
  open_file file{name.c_str(), O_WRONLY | O_CREAT | O_EXCL, all_may_write};
  if (file.get() < 0) return errno;
  const bool permitted = !exists || ::fchmod(file.get(), status.st_mode & permissions) == 0;
  int answer = permitted ? file.write_and_close(text) : errno;
  if (answer == 0 && std::rename(name.c_str(), target.c_str()) != 0) answer = errno;
  if (answer != 0) ::unlink(name.c_str());
  return answer;
}

}  // namespace

void write_text_file(const std::string& path, std::string_view text, const char* call,
                     subject object, call_site at) {
  const int answer = write_atomically(path, text);
  if (answer == 0) return;
  throw_error(errc::operating_system, call, to_text(object),
              fmt::format("cannot write '{}': {}", path, std::generic_category().message(answer)),
              at);
}

}  // namespace weir::detail
