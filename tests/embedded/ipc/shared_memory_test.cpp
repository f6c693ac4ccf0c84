// SPDX-License-Identifier: Apache-2.0
// shared_memory_test.cpp - memory segments mapped at several addresses and in several processes.
#include "os/shared_memory.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <utility>

namespace weir::embedded::model {

namespace {

constexpr std::size_t page = 4096;

// Maps a part of a segment for a scope.
class mapping {
 public:
  mapping(const os::shared_memory& of, std::size_t offset, std::size_t bytes, void* at = nullptr)
      : at_{static_cast<char*>(of.map(offset, bytes, at))}, bytes_{bytes} {}
  mapping(mapping&&) = delete;
  ~mapping() {
    if (at_ != nullptr) munmap(at_, bytes_);
  }
  [[nodiscard]] char* get() const noexcept { return at_; }

 private:
  char* at_;
  std::size_t bytes_;
};

TEST(SharedMemory, AllMappingsShareTheMemory) {
  const os::shared_memory segment = os::shared_memory::create(3 * page, "weir-test");
  ASSERT_TRUE(segment);
  EXPECT_EQ(segment.bytes(), 3 * page);
  const mapping all{segment, 0, 3 * page};
  const mapping last{segment, 2 * page, page};
  ASSERT_NE(all.get(), nullptr);
  ASSERT_NE(last.get(), nullptr);
  EXPECT_EQ(all.get()[2 * page + 7], 0);
  all.get()[2 * page + 7] = 42;
  EXPECT_EQ(last.get()[7], 42);
}

TEST(SharedMemory, AMappingReplacesAReservation) {
  const os::shared_memory segment = os::shared_memory::create(page, "weir-test");
  void* const reserved = mmap(nullptr, page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(reserved, MAP_FAILED);
  const mapping there{segment, 0, page, reserved};
  EXPECT_EQ(there.get(), reserved);
  there.get()[0] = 1;
}

TEST(SharedMemory, AMappingOutlivesTheDescriptor) {
  os::shared_memory segment = os::shared_memory::create(page, "weir-test");
  const mapping kept{segment, 0, page};
  segment = {};
  kept.get()[page - 1] = 5;
  EXPECT_EQ(kept.get()[page - 1], 5);
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
  const os::shared_memory too_large = os::shared_memory::create(3 * page, "weir-test");
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_TRUE(fits);
  EXPECT_FALSE(too_large);
}

TEST(SharedMemory, AnInvalidDescriptorYieldsAnEmptySegment) {
  EXPECT_FALSE(os::shared_memory::duplicate_of(-1));
  EXPECT_FALSE(os::shared_memory::duplicate_from(getpid(), 1 << 20));
  EXPECT_EQ(os::shared_memory{}.bytes(), 0u);
  EXPECT_EQ(os::shared_memory{}.map(0, page), nullptr);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const os::shared_memory no_segment = os::shared_memory::adopt(ends[0]);
  EXPECT_EQ(no_segment.bytes(), 0u);
  close(ends[1]);
}

// The other process is a fork of a multi-threaded process, so it may only make system calls.
TEST(SharedMemory, AnotherProcessOpensASegmentByItsDescriptor) {
  const os::shared_memory segment = os::shared_memory::create(page, "weir-test");
  const mapping ours{segment, 0, page};
  std::memcpy(ours.get(), "ask", 4);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) {
    const os::shared_memory opened = os::shared_memory::duplicate_from(parent, segment.fd());
    auto* seen = static_cast<char*>(opened.map(0, page));
    if (seen == nullptr || std::memcmp(seen, "ask", 4) != 0) _exit(1);
    std::memcpy(seen, "answer", 7);
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_STREQ(ours.get(), "answer");
}

}  // namespace

}  // namespace weir::embedded::model
