// SPDX-License-Identifier: Apache-2.0
// tools/weir/stage/chunk_transfer.cpp - the three copies of a chunk, and the events between them.
#include "stage/chunk_transfer.hpp"

#include <weir/memory/copy.hpp>
#include <weir/memory/fill.hpp>

namespace weir::tool {
namespace {

// Makes `next` wait for the current work of `last`, with the event `mark`.
void order(stream_ref last, const event& mark, stream_ref next) {
  last.record(mark);
  if (next != last) next.wait(mark);
}

}  // namespace

chunk_transfer::chunk_transfer(const pipeline_streams& streams, weir::device device,
                               std::size_t chunk_bytes)
    : copied_in_{streams.of(step::in, 0), chunk_bytes},
      copied_across_{streams.of(step::in, 0), chunk_bytes},
      in_done_{device},
      across_done_{device},
      out_done_{device} {
  // Touches all pages now, so that page faults are not part of a measurement.
  fill(copied_in_.stream(), copied_in_, std::byte{0});
  fill(copied_across_.stream(), copied_across_, std::byte{0});
  // The buffers are allocated in the order of this stream, so all other streams wait for the event
  // that is recorded here.
  copied_in_.stream().record(out_done_);
  for (const stream& s : streams.all()) {
    if (s.ref() == copied_in_.stream()) continue;
    s.wait(out_done_);
    // The copies use parts of the buffers by address, so the streams that use them must be
    // declared.
    copied_in_.used_on(s);
    copied_across_.used_on(s);
  }
}

void chunk_transfer::enqueue(const pipeline_streams& streams, std::uint64_t chunk,
                             std::span<const std::byte> from, std::span<std::byte> to) {
  const stream_ref in = streams.of(step::in, chunk);
  const stream_ref across = streams.of(step::across, chunk);
  const stream_ref out = streams.of(step::out, chunk);
  const std::span copied_in{copied_in_.data(), from.size()};
  const std::span copied_across{copied_across_.data(), from.size()};

  in.wait(out_done_);
  copy(in, from, copied_in);
  order(in, in_done_, across);
  copy(across, copied_in, copied_across);
  order(across, across_done_, out);
  copy(out, copied_across, to);
  out.record(out_done_);
}

void chunk_transfer::wait_before_check(const pipeline_streams& streams, std::uint64_t chunk) const {
  const stream_ref check = streams.of(step::check, chunk);
  if (check != streams.of(step::out, chunk)) check.wait(out_done_);
}

}  // namespace weir::tool
