// SPDX-License-Identifier: Apache-2.0
// os/shared_memory.cpp - sealed memfd segments; those of other processes come through /proc.
#include "os/shared_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace weir::os {

namespace {

// Exceeding the process's file size limit raises SIGXFSZ, which ends the process by default.
bool is_allowed_file_size(std::size_t bytes) noexcept {
  rlimit maximum{};
  return getrlimit(RLIMIT_FSIZE, &maximum) != 0 || maximum.rlim_cur == RLIM_INFINITY ||
         bytes <= maximum.rlim_cur;
}

}  // namespace

shared_memory::~shared_memory() {
  if (fd_ >= 0) close(fd_);
}

shared_memory shared_memory::create(std::size_t bytes, const char* name) noexcept {
  if (!is_allowed_file_size(bytes)) {
    errno = EFBIG;
    return {};
  }
  shared_memory created{memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING)};
  if (!created) return {};
  if (ftruncate(created.fd_, static_cast<off_t>(bytes)) != 0) return {};
  // Without the seals another process could shrink the segment, and touching the removed pages
  // would raise SIGBUS.
  if (fcntl(created.fd_, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) return {};
  return created;
}

shared_memory shared_memory::duplicate_of(int fd) noexcept {
  return shared_memory{fcntl(fd, F_DUPFD_CLOEXEC, 0)};
}

shared_memory shared_memory::duplicate_from(pid_t process, int fd) noexcept {
  if (process == getpid()) return duplicate_of(fd);
  char path[48];
  std::snprintf(path, sizeof path, "/proc/%d/fd/%d", static_cast<int>(process), fd);
  // O_NOCTTY and O_NONBLOCK: the descriptor may be that of a terminal or a pipe.
  return shared_memory{open(path, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)};
}

std::size_t shared_memory::bytes() const noexcept {
  struct stat status {};
  if (fstat(fd_, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size < 0) return 0;
  return static_cast<std::size_t>(status.st_size);
}

bool shared_memory::is_sealed() const noexcept {
  const int seals = fcntl(fd_, F_GET_SEALS);
  return seals >= 0 && (seals & F_SEAL_SHRINK) != 0;
}

bool shared_memory::seal() const noexcept {
  return is_sealed() || fcntl(fd_, F_ADD_SEALS, F_SEAL_SHRINK) == 0;
}

shared_pages shared_memory::map(std::size_t offset, std::size_t bytes) const noexcept {
  void* const mapped_address =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, static_cast<off_t>(offset));
  if (mapped_address == MAP_FAILED) return {};
  return {mapped_address, bytes};
}

bool shared_memory::map_at(void* address, std::size_t offset, std::size_t bytes) const noexcept {
  return mmap(address, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd_,
              static_cast<off_t>(offset)) != MAP_FAILED;
}

shared_pages::~shared_pages() {
  if (address_ != nullptr) munmap(address_, bytes_);
}

shared_pages shared_pages::create(std::size_t bytes) noexcept {
  void* const mapped_address = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                                    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped_address == MAP_FAILED) return {};
  return {mapped_address, bytes};
}

// mremap with an old size of 0 maps a shared mapping again.
bool shared_pages::map_at(void* address) const noexcept {
  return mremap(address_, 0, bytes_, MREMAP_MAYMOVE | MREMAP_FIXED, address) != MAP_FAILED;
}

}  // namespace weir::os
