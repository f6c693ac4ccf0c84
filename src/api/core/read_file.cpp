// SPDX-License-Identifier: Apache-2.0
// api/core/read_file.cpp - reads whole files.
#include "api/core/read_file.hpp"

#include "api/core/check.hpp"

#include <fmt/format.h>

#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <system_error>

namespace weir::detail {
namespace {

struct file_closer {
  void operator()(std::FILE* file) const noexcept { std::fclose(file); }
};

}  // namespace

std::string read_file(const std::string& path, const char* call, call_site at) {
  const std::unique_ptr<std::FILE, file_closer> file{std::fopen(path.c_str(), "rbe")};
  struct stat status {};
  if (file != nullptr && fstat(fileno(file.get()), &status) == 0) {
    if (S_ISCHR(status.st_mode) || S_ISBLK(status.st_mode)) {
      throw_error(errc::file_not_found, call, fmt::format("file \"{}\"", path),
                  "the path names a device, whose contents may be endless; name a regular file",
                  at);
    }
    std::string all;
    std::array<char, 16384> part;
    while (const std::size_t got = std::fread(part.data(), 1, part.size(), file.get()))
      all.append(part.data(), got);
    // fopen() also opens a folder, and then fread() fails
    if (std::ferror(file.get()) == 0) return all;
  }
  throw_error(errc::file_not_found, call, fmt::format("file \"{}\"", path),
              std::generic_category().message(errno), at);
}

}  // namespace weir::detail
