// SPDX-License-Identifier: Apache-2.0
// interprocess_test.cpp - the code that docs/guide/interprocess.md shows.
#include <gtest/gtest.h>
#include <unistd.h>

#include <vector>
#include <weir/weir.hpp>

#include "support/peer.hpp"

namespace {

// The process that creates them.
WEIR_PEER_ROLE(interprocess_maker) {
  const weir::test::peer_channel& line = test;
  const weir::device gpu;
  const weir::stream s{gpu};
  // [interprocess-maker]
  weir::ipc_buffer<float> shared{1000};  // memory that others may open
  const weir::ipc_event ready{gpu};

  line.send(shared.handle());  // plain bytes: over a pipe, a socket, a file
  line.send(ready.handle());

  weir::fill(s, shared, 2.0f);
  s.record(ready);
  line.send('!');  // the other process waits for this record, not an earlier one
  // [/interprocess-maker]
  char end = 0;
  static_cast<void>(line.try_receive(end));
  s.sync();
}

WEIR_PEER_ROLE(interprocess_pool_maker) {
  const weir::test::peer_channel& line = test;
  const weir::device gpu;
  const weir::stream s{gpu};
  const weir::ipc_event ready{gpu};
  line.send(ready.handle());
  // [interprocess-pool-maker]
  const weir::memory_pool pool{gpu, {.sharing = weir::pool_sharing::file_descriptor}};
  const int descriptor = weir::export_fd(pool);  // the pool first
  line.send_descriptor(descriptor);              // over a local socket (SCM_RIGHTS)
  close(descriptor);

  weir::buffer<float> x{pool, s, 1000};  // a buffer like any other
  weir::fill(s, x, 3.0f);
  s.record(ready);
  line.send(weir::handle_of(x));  // before the stream has run it
  // [/interprocess-pool-maker]
  char end = 0;
  static_cast<void>(line.try_receive(end));
  s.sync();
}

TEST(InterprocessPage, APoolIsSharedWithAProcess) {
  const weir::test::peer line{"interprocess_pool_maker"};
  const weir::device gpu;
  const weir::stream t{gpu};
  std::vector<float> here(1000);
  const auto ready = weir::ipc_event::open(line.receive<weir::ipc_event_handle>(), gpu);
  const int descriptor = line.receive_descriptor();
  // [interprocess-pool-opener]
  const auto pool = weir::ipc_pool::import_fd(descriptor, gpu);
  close(descriptor);

  weir::ipc_pool_buffer<float> x{pool, line.receive<weir::pool_memory_handle>()};
  t.wait(ready);
  weir::copy(t, x, here);
  // [/interprocess-pool-opener]
  t.sync();
  EXPECT_EQ(here, std::vector<float>(1000, 3.0f));
}

TEST(InterprocessPage, ABufferIsSharedWithAProcess) {
  const weir::test::peer line{"interprocess_maker"};
  const weir::device gpu;
  const weir::stream t{gpu};
  std::vector<float> here(1000);
  // [interprocess-opener]
  auto shared = weir::ipc_buffer<float>::open(line.receive<weir::ipc_memory_handle>());
  const auto ready = weir::ipc_event::open(line.receive<weir::ipc_event_handle>(), gpu);

  static_cast<void>(line.receive<char>());  // the record is queued, not necessarily complete
  t.wait(ready);                            // on the device, for work of the other process
  weir::copy(t, shared, here);
  // [/interprocess-opener]
  t.sync();
  EXPECT_EQ(here, std::vector<float>(1000, 2.0f));
}

}  // namespace
