// SPDX-License-Identifier: Apache-2.0
// api/sync/shared_semaphore.cpp - semaphores in shared memory, signalled and awaited by the host.
#include <weir/sync/shared_semaphore.hpp>

#include "api/core/check.hpp"
#include "os/clock.hpp"
#include "os/semaphore_page.hpp"
#include "os/shared_memory.hpp"

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

}  // namespace

shared_semaphore::shared_semaphore(semaphore_kind kind, unsigned long long value, call_site at) {
  if (kind != semaphore_kind::timeline && kind != semaphore_kind::binary) {
    detail::throw_error(errc::invalid_value, "weir::shared_semaphore", subject_name,
                        "the kind is not a value of weir::semaphore_kind; use timeline or binary",
                        at);
  }
  os::shared_memory segment = os::shared_memory::create(semaphore_page::bytes, "weir-semaphore");
  if (!segment) throw_system_error("weir::shared_semaphore", at);
  page_ = static_cast<semaphore_page*>(segment.map(0, semaphore_page::bytes).release());
  if (page_ == nullptr) throw_system_error("mmap", at);
  const bool is_timeline = kind == semaphore_kind::timeline;
  page_->kind = is_timeline ? semaphore_page::timeline : semaphore_page::binary;
  page_->value.store(is_timeline || value == 0 ? value : 1, std::memory_order_relaxed);
  page_->magic = semaphore_page::magic_number;
  fd_ = segment.release();
}

shared_semaphore shared_semaphore::adopt(int fd, call_site at) {
  struct stat status {};
  if (fstat(fd, &status) != 0) throw_system_error("fstat", at);
  os::shared_memory segment = os::shared_memory::adopt(fd);
  // A segment without the seal is refused, because another process could shrink it.
  const bool is_safe = segment.bytes() >= semaphore_page::bytes && segment.is_sealed();
  os::shared_pages pages = is_safe ? segment.map(0, semaphore_page::bytes) : os::shared_pages{};
  segment.release();  // if adopt() throws, the caller still owns the descriptor
  auto* const page = reinterpret_cast<semaphore_page*>(pages.get());
  if (page != nullptr && page->magic == semaphore_page::magic_number &&
      (page->kind == semaphore_page::timeline || page->kind == semaphore_page::binary)) {
    pages.release();
    return shared_semaphore{fd, page};
  }
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
  static_cast<void>(open_page("weir::shared_semaphore::duplicate_fd", at));  // throws if closed
  const int descriptor = fcntl(fd_, F_DUPFD_CLOEXEC, 0);
  if (descriptor < 0) throw_system_error("fcntl", at);
  return descriptor;
}

}  // namespace weir
