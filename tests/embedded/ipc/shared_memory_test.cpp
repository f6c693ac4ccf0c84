// SPDX-License-Identifier: Apache-2.0
// shared_memory_test.cpp - memory segments mapped at several addresses and in several processes.
#include "os/shared_memory.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace weir::embedded::model {

namespace {

constexpr std::size_t page = 4096;

char* text(const os::shared_pages& pages) { return reinterpret_cast<char*>(pages.get()); }

TEST(SharedMemory, AllMappingsShareTheMemory) {
  const os::shared_memory segment = os::shared_memory::create(3 * page, "weir-test");
  ASSERT_TRUE(segment);
  EXPECT_EQ(segment.bytes(), 3 * page);
  const os::shared_pages all = segment.map(0, 3 * page);
  const os::shared_pages last = segment.map(2 * page, page);
  ASSERT_TRUE(all);
  ASSERT_TRUE(last);
  EXPECT_EQ(text(all)[2 * page + 7], 0);
  text(all)[2 * page + 7] = 42;
  EXPECT_EQ(text(last)[7], 42);
}

TEST(SharedMemory, AMappingReplacesAReservation) {
  const os::shared_memory segment = os::shared_memory::create(page, "weir-test");
  void* const reserved = mmap(nullptr, page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(reserved, MAP_FAILED);
  ASSERT_TRUE(segment.map_at(reserved, 0, page));
  static_cast<char*>(reserved)[0] = 1;
  EXPECT_EQ(text(segment.map(0, page))[0], 1);
  munmap(reserved, page);
}

TEST(SharedMemory, AMappingOutlivesTheDescriptor) {
  os::shared_memory segment = os::shared_memory::create(page, "weir-test");
  const os::shared_pages kept = segment.map(0, page);
  segment = {};
  text(kept)[page - 1] = 5;
  EXPECT_EQ(text(kept)[page - 1], 5);
}

TEST(SharedMemory, ASegmentCannotBeTruncated) {
  const os::shared_memory segment = os::shared_memory::create(page, "weir-test");
  EXPECT_NE(ftruncate(segment.fd(), 0), 0);
  EXPECT_EQ(segment.bytes(), page);
  EXPECT_TRUE(segment.is_sealed());
  EXPECT_FALSE(os::shared_memory::adopt(memfd_create("weir-test", MFD_CLOEXEC)).is_sealed());
}

// Exceeding RLIMIT_FSIZE would end the process with a signal.
TEST(SharedMemory, ASegmentAboveTheFileSizeLimitIsRefused) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit low{2 * page, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &low), 0);
  const os::shared_memory fits = os::shared_memory::create(2 * page, "weir-test");
  errno = 0;
  const os::shared_memory too_large = os::shared_memory::create(3 * page, "weir-test");
  const int failure = errno;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_TRUE(fits);
  EXPECT_FALSE(too_large);
  EXPECT_EQ(failure, EFBIG);
}

TEST(SharedMemory, AnInvalidDescriptorYieldsAnEmptySegment) {
  EXPECT_FALSE(os::shared_memory::duplicate_of(-1));
  EXPECT_FALSE(os::shared_memory::duplicate_from(getpid(), 1 << 20));
  EXPECT_EQ(os::shared_memory{}.bytes(), 0u);
  EXPECT_FALSE(os::shared_memory{}.map(0, page));
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const os::shared_memory no_segment = os::shared_memory::adopt(ends[0]);
  EXPECT_EQ(no_segment.bytes(), 0u);
  close(ends[1]);
}

// The other process is a fork of a multi-threaded process, so it may only make system calls.
TEST(SharedMemory, AnotherProcessOpensASegmentByItsDescriptor) {
  const os::shared_memory segment = os::shared_memory::create(page, "weir-test");
  const os::shared_pages ours = segment.map(0, page);
  std::memcpy(ours.get(), "ask", 4);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) {
    const os::shared_memory opened = os::shared_memory::duplicate_from(parent, segment.fd());
    const os::shared_pages seen = opened.map(0, page);
    if (!seen || std::memcmp(seen.get(), "ask", 4) != 0) _exit(1);
    std::memcpy(seen.get(), "answer", 7);
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_STREQ(text(ours), "answer");
}

}  // namespace

}  // namespace weir::embedded::model
