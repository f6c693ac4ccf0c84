// model/shared_memory.cpp - segments are memfds, sealed at their size; other processes' are reached
// through /proc.
#include "embedded/model/ipc/shared_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

namespace weir::embedded::model {

namespace {

// What is larger than the process's limit of files is refused with a signal (SIGXFSZ), which by
// default ends the process.
bool may_be_as_large(std::size_t bytes) noexcept {
  rlimit most{};
  return getrlimit(RLIMIT_FSIZE, &most) != 0 || most.rlim_cur == RLIM_INFINITY ||
         bytes <= most.rlim_cur;
}

}  // namespace

shared_memory::~shared_memory() {
  if (fd_ >= 0) close(fd_);
}

shared_memory shared_memory::create(std::size_t bytes, const char* name) noexcept {
  if (!may_be_as_large(bytes)) return {};
  shared_memory made{memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING)};
  if (!made) return {};
  if (ftruncate(made.fd_, static_cast<off_t>(bytes)) != 0) return {};
  // Without the seals a process that shares it could cut it short, and every touch behind that
  // would be a SIGBUS.
  if (fcntl(made.fd_, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) return {};
  return made;
}

shared_memory shared_memory::duplicate_of(int fd) noexcept {
  return shared_memory{fcntl(fd, F_DUPFD_CLOEXEC, 0)};
}

shared_memory shared_memory::of_process(pid_t process, int fd) noexcept {
  if (process == getpid()) return duplicate_of(fd);
  char path[48];
  std::snprintf(path, sizeof path, "/proc/%d/fd/%d", static_cast<int>(process), fd);
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

bool shared_memory::same_as(const shared_memory& other) const noexcept {
  struct stat this_status {};
  struct stat other_status {};
  if (fstat(fd_, &this_status) != 0 || fstat(other.fd_, &other_status) != 0) return false;
  return this_status.st_dev == other_status.st_dev && this_status.st_ino == other_status.st_ino;
}

void* shared_memory::map(std::size_t offset, std::size_t bytes, void* at) const noexcept {
  void* got = mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | (at != nullptr ? MAP_FIXED : 0),
                   fd_, static_cast<off_t>(offset));
  return got == MAP_FAILED ? nullptr : got;
}

shared_pages::~shared_pages() {
  if (at_ != nullptr) munmap(at_, bytes_);
}

shared_pages shared_pages::create(std::size_t bytes) noexcept {
  void* const got = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (got == MAP_FAILED) return {};
  return {got, bytes};
}

shared_pages shared_pages::of(const shared_memory& segment, std::size_t bytes) noexcept {
  void* const got = segment.map(0, bytes);
  if (got == nullptr) return {};
  return {got, bytes};
}

// To remap none of a shared mapping is to map it once more.
bool shared_pages::map_at(void* at) const noexcept {
  return mremap(at_, 0, bytes_, MREMAP_MAYMOVE | MREMAP_FIXED, at) != MAP_FAILED;
}

}  // namespace weir::embedded::model
