// SPDX-License-Identifier: Apache-2.0
// shared_semaphore_test.cpp - semaphores in shared memory, used by threads and processes.
#include <weir/sync/shared_semaphore.hpp>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/semaphore_page.hpp"
#include "support/errors.hpp"

namespace weir {
namespace {

using namespace std::chrono_literals;
using test::failure_of;
using test::result_of;

TEST(SharedSemaphore, ATimelineReleasesAllWaitsUpToItsValue) {
  const shared_semaphore s;
  EXPECT_EQ(s.kind(), semaphore_kind::timeline);
  EXPECT_EQ(s.value(), 0u);
  EXPECT_FALSE(s.wait_for(0ms, 1));
  s.signal(5);
  EXPECT_EQ(s.value(), 5u);
  s.wait(3);
  s.wait(5);
  EXPECT_FALSE(s.wait_for(1us, 6));
}

TEST(SharedSemaphore, ABinarySemaphoreReleasesOneWait) {
  const shared_semaphore s{semaphore_kind::binary, 9};
  EXPECT_EQ(s.kind(), semaphore_kind::binary);
  EXPECT_EQ(s.value(), 1u) << "the value of a binary semaphore is 0 or 1";
  s.wait();
  EXPECT_EQ(s.value(), 0u);
  EXPECT_FALSE(s.wait_for(0ms));
  s.signal();
  EXPECT_TRUE(s.wait_for(1h));
}

TEST(SharedSemaphore, ASignalWakesAThread) {
  const shared_semaphore question;
  const shared_semaphore answer;
  std::thread other{[&] {
    question.wait(1);
    answer.signal(42);
  }};
  question.signal(1);
  answer.wait(42);
  other.join();
}

TEST(SharedSemaphore, TwoProcessesShareASemaphore) {
  const shared_semaphore question;
  const shared_semaphore answer;
  const pid_t child = fork();
  if (child == 0) {
    question.wait(1);
    answer.signal(7);
    _exit(0);
  }
  question.signal(1);
  answer.wait(7);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(SharedSemaphore, ADescriptorIsAdoptedAsASemaphore) {
  const shared_semaphore s{semaphore_kind::timeline, 3};
  const shared_semaphore same = shared_semaphore::adopt(s.duplicate_fd());
  EXPECT_EQ(same.value(), 3u);
  same.signal(4);
  EXPECT_EQ(s.value(), 4u);
}

// Shared memory with invalid contents is refused.
TEST(SharedSemaphore, AnInvalidKindIsRefused) {
  EXPECT_EQ(result_of([] { shared_semaphore{static_cast<semaphore_kind>(9)}; }),
            errc::invalid_value);
  const shared_semaphore s;
  const int fd = s.duplicate_fd();
  void* const page =
      mmap(nullptr, sizeof(os::semaphore_page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  ASSERT_NE(page, MAP_FAILED);
  static_cast<os::semaphore_page*>(page)->kind = 9;
  EXPECT_EQ(result_of([&] { static_cast<void>(shared_semaphore::adopt(fd)); }),
            errc::invalid_handle);
  EXPECT_EQ(munmap(page, sizeof(os::semaphore_page)), 0);
  EXPECT_EQ(close(fd), 0);
}

TEST(SharedSemaphore, AFailedCreationSaysWhy) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &none), 0);
  const auto failure = failure_of([] { const shared_semaphore s; });
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->result(), errc::operating_system);
  EXPECT_STREQ(failure->call(), "weir::shared_semaphore");
  const std::string reason = std::generic_category().message(EFBIG);
  EXPECT_NE(std::string{failure->what()}.find(reason), std::string::npos) << failure->what();
}

TEST(SharedSemaphore, OtherDescriptorsAreRefused) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  EXPECT_EQ(result_of([&] { static_cast<void>(shared_semaphore::adopt(ends[0])); }),
            errc::invalid_handle);
  EXPECT_EQ(result_of([] { static_cast<void>(shared_semaphore::adopt(-1)); }),
            errc::operating_system);
  EXPECT_EQ(close(ends[0]), 0) << "it is still ours";
  EXPECT_EQ(close(ends[1]), 0);
}

// Memory that is truncated later would raise SIGBUS, so only memory that is sealed against
// shrinking is adopted.
TEST(SharedSemaphore, MemoryThatMayShrinkIsRefused) {
  const shared_semaphore s{semaphore_kind::timeline, 3};
  char page[4096];
  ASSERT_EQ(pread(s.fd(), page, sizeof page, 0), static_cast<ssize_t>(sizeof page));
  const int copy = memfd_create("shared-semaphore-test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  ASSERT_EQ(pwrite(copy, page, sizeof page, 0), static_cast<ssize_t>(sizeof page));
  EXPECT_EQ(result_of([&] { static_cast<void>(shared_semaphore::adopt(copy)); }),
            errc::invalid_handle);
  ASSERT_EQ(fcntl(copy, F_ADD_SEALS, F_SEAL_SHRINK), 0);
  const shared_semaphore good = shared_semaphore::adopt(copy);
  EXPECT_EQ(good.value(), 3u);

  char path[] = "/tmp/shared-semaphore-test-XXXXXX";
  const int file = mkostemp(path, O_CLOEXEC);
  unlink(path);
  ASSERT_EQ(pwrite(file, page, sizeof page, 0), static_cast<ssize_t>(sizeof page));
  EXPECT_EQ(result_of([&] { static_cast<void>(shared_semaphore::adopt(file)); }),
            errc::invalid_handle);
  EXPECT_EQ(close(file), 0) << "it is still ours";
}

TEST(SharedSemaphore, MovedFromAndClosedSemaphoresThrowClosed) {
  shared_semaphore s;
  shared_semaphore taken{std::move(s)};
  EXPECT_TRUE(s.closed());
  EXPECT_EQ(result_of([&] { s.signal(1); }), errc::closed);
  EXPECT_EQ(result_of([&] { s.wait(1); }), errc::closed);
  s = std::move(taken);
  s.close();
  s.close();
  EXPECT_EQ(result_of([&] { static_cast<void>(s.value()); }), errc::closed);
  EXPECT_EQ(result_of([&] { static_cast<void>(s.duplicate_fd()); }), errc::closed);
}

}  // namespace
}  // namespace weir
