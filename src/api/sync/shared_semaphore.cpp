// SPDX-License-Identifier: Apache-2.0
// api/sync/shared_semaphore.cpp - semaphores in shared memory, signalled and awaited by the host.
#include <weir/sync/shared_semaphore.hpp>

#include "api/core/check.hpp"
#include "os/clock.hpp"
#include "os/semaphore_page.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace weir {
namespace {

using os::semaphore_page;

constexpr const char* subject_name = "a shared semaphore";

[[noreturn, gnu::cold]] void throw_system_error(const char* call, call_site at) {
  detail::throw_error(errc::operating_system, call, subject_name,
                      std::generic_category().message(errno), at);
}

semaphore_page* map_page(int fd) noexcept {
  void* const mapped =
      mmap(nullptr, semaphore_page::bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  return mapped == MAP_FAILED ? nullptr : static_cast<semaphore_page*>(mapped);
}

// Owns a file descriptor and closes it, unless release() was called.
class unique_descriptor {
 public:
  explicit unique_descriptor(int fd) noexcept : fd_{fd} {}
  unique_descriptor(const unique_descriptor&) = delete;
  unique_descriptor& operator=(const unique_descriptor&) = delete;
  ~unique_descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  [[nodiscard]] int get() const noexcept { return fd_; }
  int release() noexcept { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

}  // namespace

shared_semaphore::shared_semaphore(semaphore_kind kind, unsigned long long value, call_site at) {
  if (kind != semaphore_kind::timeline && kind != semaphore_kind::binary) {
    detail::throw_error(errc::invalid_value, "weir::shared_semaphore", subject_name,
                        "the kind is not a value of weir::semaphore_kind; use timeline or binary",
                        at);
  }
  unique_descriptor descriptor{memfd_create("weir-semaphore", MFD_CLOEXEC | MFD_ALLOW_SEALING)};
  if (descriptor.get() < 0) throw_system_error("memfd_create", at);
  // The file is sealed, so that no process that shares it can shrink it. If the file were shrunk,
  // an access to the memory would raise SIGBUS.
  if (ftruncate(descriptor.get(), semaphore_page::bytes) != 0 ||
      fcntl(descriptor.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    throw_system_error("ftruncate", at);
  }
  page_ = map_page(descriptor.get());
  if (page_ == nullptr) throw_system_error("mmap", at);
  const bool is_timeline = kind == semaphore_kind::timeline;
  page_->kind = is_timeline ? semaphore_page::timeline : semaphore_page::binary;
  page_->value.store(is_timeline || value == 0 ? value : 1, std::memory_order_relaxed);
  page_->magic = semaphore_page::magic_number;
  fd_ = descriptor.release();
}

shared_semaphore shared_semaphore::adopt(int fd, call_site at) {
  struct stat status {};
  if (fstat(fd, &status) != 0) throw_system_error("fstat", at);
  const bool large =
      S_ISREG(status.st_mode) && status.st_size >= static_cast<off_t>(semaphore_page::bytes);
  // A file without the seal is refused, because another process could shrink it. F_GET_SEALS
  // returns -1 for a file that cannot be sealed.
  const int seals = fcntl(fd, F_GET_SEALS);
  const bool cannot_shrink = seals >= 0 && (seals & F_SEAL_SHRINK) != 0;
  semaphore_page* const page = large && cannot_shrink ? map_page(fd) : nullptr;
  const bool known =
      page != nullptr && page->magic == semaphore_page::magic_number &&
      (page->kind == semaphore_page::timeline || page->kind == semaphore_page::binary);
  if (known) return shared_semaphore{fd, page};
  if (page != nullptr) munmap(page, semaphore_page::bytes);
  detail::throw_error(errc::invalid_handle, "weir::shared_semaphore::adopt", subject_name,
                      "the file descriptor does not refer to a shared semaphore; pass one that a "
                      "shared_semaphore exported",
                      at);
}

shared_semaphore::shared_semaphore(shared_semaphore&& other) noexcept
    : fd_{std::exchange(other.fd_, -1)}, page_{std::exchange(other.page_, nullptr)} {}

shared_semaphore& shared_semaphore::operator=(shared_semaphore&& other) noexcept {
  shared_semaphore replacement{std::move(other)};
  std::swap(fd_, replacement.fd_);
  std::swap(page_, replacement.page_);
  return *this;
}

shared_semaphore::~shared_semaphore() { close(); }

void shared_semaphore::close() noexcept {
  if (closed()) return;
  munmap(std::exchange(page_, nullptr), semaphore_page::bytes);
  ::close(std::exchange(fd_, -1));
}

semaphore_page& shared_semaphore::open_page(const char* call, call_site at) const {
  if (closed())
    detail::throw_error(
        errc::closed, call, subject_name,
        "the shared semaphore was closed or moved from; keep it open while it is used", at);
  return *page_;
}

void shared_semaphore::signal(unsigned long long value, call_site at) const {
  semaphore_page& page = open_page("weir::shared_semaphore::signal", at);
  page.set(page.kind == semaphore_page::timeline ? value : 1);
}

void shared_semaphore::wait(unsigned long long value, call_site at) const {
  static_cast<void>(wait_for_nanoseconds(detail::forever, value, at));
}

bool shared_semaphore::wait_for_nanoseconds(long long timeout, unsigned long long value,
                                            call_site at) const {
  semaphore_page& page = open_page("weir::shared_semaphore::wait", at);
  const long long begin = os::steady_nanoseconds();
  for (;;) {
    const std::uint32_t observed = page.changes.load(std::memory_order_acquire);
    if (page.try_acquire(value)) return true;
    if (timeout == detail::forever) {
      page.wait_for_change(observed, nullptr);
      continue;
    }
    const long long remaining = timeout - (os::steady_nanoseconds() - begin);
    if (remaining <= 0) return false;
    const timespec time_limit{.tv_sec = remaining / 1'000'000'000,
                              .tv_nsec = remaining % 1'000'000'000};
    page.wait_for_change(observed, &time_limit);
  }
}

unsigned long long shared_semaphore::value(call_site at) const {
  return open_page("weir::shared_semaphore::value", at).value.load(std::memory_order_acquire);
}

semaphore_kind shared_semaphore::kind(call_site at) const {
  return open_page("weir::shared_semaphore::kind", at).kind == semaphore_page::timeline
             ? semaphore_kind::timeline
             : semaphore_kind::binary;
}

int shared_semaphore::duplicate_fd(call_site at) const {
  static_cast<void>(open_page("weir::shared_semaphore::duplicate_fd", at));
  const int descriptor = fcntl(fd_, F_DUPFD_CLOEXEC, 0);
  if (descriptor < 0) throw_system_error("fcntl", at);
  return descriptor;
}

}  // namespace weir
