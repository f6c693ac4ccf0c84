// stage/passage.cpp - three copies and the events between them.
#include "stage/passage.hpp"

#include <weir/memory/copy.hpp>
#include <weir/memory/fill.hpp>

namespace weir::tool {
namespace {

// `next` goes on after what `last` has been given, marked by `mark`.
void order(stream_ref last, const event& mark, stream_ref next) {
  last.record(mark);
  if (next != last) next.wait(mark);
}

}  // namespace

passage::passage(const lanes& lanes, weir::device device, std::size_t chunk_bytes)
    : arrived_{lanes.of(step::in, 0), chunk_bytes},
      crossed_{lanes.of(step::in, 0), chunk_bytes},
      in_done_{device},
      across_done_{device},
      out_done_{device} {
  // Memory that is taken page by page at its first use is taken here, before anybody looks at the clock.
  fill(arrived_.stream(), arrived_, std::byte{0});
  fill(crossed_.stream(), crossed_, std::byte{0});
  // The memory is there from this point of its stream on, so that is where the others may begin.
  arrived_.stream().record(out_done_);
  for (const stream& s : lanes.all()) {
    if (s.ref() == arrived_.stream()) continue;
    s.wait(out_done_);
    // The copies name parts of the buffers by address, so the buffers are told that every stream uses them.
    arrived_.used_on(s);
    crossed_.used_on(s);
  }
}

void passage::carry(const lanes& lanes, std::uint64_t chunk, std::span<const std::byte> from, std::span<std::byte> to) {
  const stream_ref in = lanes.of(step::in, chunk);
  const stream_ref across = lanes.of(step::across, chunk);
  const stream_ref out = lanes.of(step::out, chunk);
  const std::span arrived{arrived_.data(), from.size()};
  const std::span crossed{crossed_.data(), from.size()};

  in.wait(out_done_);
  copy(in, from, arrived);
  order(in, in_done_, across);
  copy(across, arrived, crossed);
  order(across, across_done_, out);
  copy(out, crossed, to);
  out.record(out_done_);
}

void passage::hand_to_check(const lanes& lanes, std::uint64_t chunk) const {
  const stream_ref check = lanes.of(step::check, chunk);
  if (check != lanes.of(step::out, chunk)) check.wait(out_done_);
}

}  // namespace weir::tool
