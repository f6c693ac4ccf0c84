// SPDX-License-Identifier: Apache-2.0
// external_memory_test.cpp - the code that docs/guide/external-memory.md shows.
#include <gtest/gtest.h>

#include <cstdio>
#include <weir/weir.hpp>

#include "support/device_copy.hpp"
#include "support/shared_allocation.hpp"

namespace {

TEST(ExternalMemoryPage, ForeignMemoryIsImportedAndMapped) {
  const weir::device gpu;
  const weir::stream s{gpu};
  const weir::test::shared_allocation theirs{gpu};
  const int fd = theirs.descriptor();
  const std::size_t bytes = theirs.bytes();
  // [external-memory-import]
  auto memory = weir::external_memory::import_fd(fd, bytes, gpu);      // the driver owns fd now
  weir::mapped_buffer<float> frame{memory, 0, bytes / sizeof(float)};  // all of it, as floats
  weir::fill(s, frame, 0.5f);                                          // the exporter sees it
  memory.close();  // frame keeps the import alive
  // [/external-memory-import]
  EXPECT_EQ(weir::test::contents(s, frame)[7], 0.5f);
}

TEST(ExternalMemoryPage, ARefusedImportThrows) {
  const weir::device gpu;
  const int fd = -1;
  // [external-memory-refusal]
  try {
    auto memory = weir::external_memory::import_fd(fd, 1 << 20, gpu);
  } catch (const weir::error& e) {
    std::puts(e.what());  // the caller still owns fd
  }
  // [/external-memory-refusal]
}

}  // namespace
