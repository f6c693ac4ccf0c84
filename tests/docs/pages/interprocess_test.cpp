// What docs/interprocess.md shows.
#include <gtest/gtest.h>

#include <vector>
#include <weir/weir.hpp>

#include "support/peer.hpp"

namespace {

// The process that makes them.
WEIR_PEER_ROLE(interprocess_maker) {
  const weir::test::peer_line& line = test;
  const weir::device gpu;
  const weir::stream s{gpu};
  // [interprocess-maker]
  weir::ipc_buffer<float> shared{1000};  // memory that others may open
  const weir::ipc_event ready{gpu};

  line.send(shared.handle());  // plain bytes: over a pipe, a socket, a file
  line.send(ready.handle());

  weir::fill(s, shared, 2.0f);
  s.record(ready);
  line.send('!');  // so that the other one waits for this record, not for one before
  // [/interprocess-maker]
  char end = 0;
  static_cast<void>(line.try_receive(end));
  s.sync();
}

TEST(InterprocessPage, MakerAndOpener) {
  const weir::test::peer line{"interprocess_maker"};
  const weir::device gpu;
  const weir::stream t{gpu};
  std::vector<float> here(1000);
  // [interprocess-opener]
  auto shared = weir::ipc_buffer<float>::open(line.receive<weir::ipc_memory_handle>());
  const auto ready = weir::ipc_event::open(line.receive<weir::ipc_event_handle>(), gpu);

  static_cast<void>(line.receive<char>());  // the record is queued there, which is not to say complete
  t.wait(ready);                            // on the device, for work of the other process
  weir::copy(t, shared, here);
  // [/interprocess-opener]
  t.sync();
  EXPECT_EQ(here, std::vector<float>(1000, 2.0f));
}

}  // namespace
