// SPDX-License-Identifier: Apache-2.0
// sequences/calls/value.cpp - waits for and writes to words of memory, in stream order. A wait is
// for the value that its own stream wrote just before; it always ends, because nothing else writes
// the word in between.
#include "sequences/actions.hpp"

#include <cstring>

namespace weir::sequences {
namespace {

struct word_of {
  block* in = nullptr;
  CUdeviceptr address = 0;
  bool wide = false;
  chosen_stream s;
  std::string name;
  bool can_wait = true;
};

bool choose_word(world& w, word_of& c) {
  c.in = any_block(w);
  if (c.in == nullptr || c.in->size < 16) return false;
  // The driver accepts a write to memory that is read-only for the device, and the device then
  // fails.
  if (c.in->read_only && !w.wild()) return false;
  c.wide = w.d.below(2) == 1;
  c.address = c.in->address + w.d.one_of<std::size_t>({0, 0, 8, 4, 1, 2});
  c.s = any_stream(w);
  c.name = where(w, c.address);
  order_after_last_use(w, *c.in, c.s);
  // Wild sequences do not order accesses: they wait only while no other work is in flight, and then
  // synchronize.
  if (w.wild()) c.can_wait = !c.in->in_graph && sync_all(w);
  return true;
}

void sync_if_wild(world& w) {
  if (w.wild()) sync_all(w);
}

CUresult write_value(world& w, const word_of& c, std::uint64_t value, unsigned flags) {
  return c.wide ? w.driver().cuStreamWriteValue64_v2(c.s.handle, c.address, value, flags)
                : w.driver().cuStreamWriteValue32_v2(c.s.handle, c.address,
                                                     static_cast<std::uint32_t>(value), flags);
}

CUresult wait_for_value(world& w, const word_of& c, std::uint64_t value, unsigned flags) {
  return c.wide ? w.driver().cuStreamWaitValue64_v2(c.s.handle, c.address, value, flags)
                : w.driver().cuStreamWaitValue32_v2(c.s.handle, c.address,
                                                    static_cast<std::uint32_t>(value), flags);
}

void write_and_wait(world& w) {
  word_of c;
  if (!choose_word(w, c)) return;
  const unsigned flags = w.d.one_of({0u, 0u, 0u, 1u, 2u, 0x80000000u});
  const std::uint64_t value = w.d.one_of<std::uint64_t>({1, 7, 0x80000000, 0x123456789abcdef0});
  const char* const bits = c.wide ? "64" : "32";
  const CUresult wrote = write_value(w, c, value, flags);
  w.text.call(wrote, fmt::format("cuStreamWriteValue{}({}, {}, {:#x}, {:#x})", bits, c.s.name,
                                 c.name, value, flags));
  if (wrote == CUDA_SUCCESS && w.d.below(2) == 0 && c.can_wait) {
    // Equal; greater or equal; AND is not 0; NOR is not 0.
    const unsigned how = w.d.one_of({1u, 0u, 2u, 3u, 1u, 4u, 8u, 0x40000001u});
    const std::uint64_t expected = (how & 7) == 3 ? 0 : value;
    w.text.call(wait_for_value(w, c, expected, how),
                fmt::format("cuStreamWaitValue{}({}, {}, {:#x}, {:#x})", bits, c.s.name, c.name,
                            expected, how));
    sync_if_wild(w);
  }
  record_use(w, *c.in, c.s);
}

void value_batch(world& w) {
  word_of c;
  if (!choose_word(w, c)) return;
  CUstreamBatchMemOpParams ops[4];
  std::memset(ops, 0, sizeof ops);
  const unsigned count = w.d.below(5);
  const std::uint32_t value = w.d.one_of<std::uint32_t>({1, 7, 0x80000000});
  std::string list;
  bool written = false;
  for (unsigned i = 0; i < count; ++i) {
    auto& op = ops[i];
    // A wait needs an earlier write in its batch.
    const bool can_wait = written && c.can_wait;
    const unsigned kind =
        w.d.one_of({2u, 2u, 5u, can_wait ? 1u : 2u, can_wait ? 1u : 5u, 6u, 0u, 99u});
    op.operation = static_cast<CUstreamBatchMemOpType>(kind);
    if (kind == 6) {
      op.memoryBarrier.flags = w.d.one_of({0u, 1u, 2u});
    } else {
      op.writeValue.address = c.address;
      op.writeValue.value64 = value;
      op.writeValue.flags = kind == 1 ? w.d.one_of({0u, 1u}) : 0;
      written = kind == 2 || written;
    }
    list += fmt::format("{} ", kind);
  }
  const unsigned flags = w.d.one_of({0u, 0u, 0u, 0u, 1u});
  const CUresult r = w.driver().cuStreamBatchMemOp_v2(c.s.handle, count, ops, flags);
  w.text.call(r, fmt::format("cuStreamBatchMemOp({}, {}, {}{:#x}, {})", c.s.name, c.name, list,
                             value, flags));
  sync_if_wild(w);
  record_use(w, *c.in, c.s);
}

}  // namespace

std::span<const action> value_actions() {
  static constexpr action all[] = {{6, write_and_wait}, {2, value_batch}};
  return all;
}

}  // namespace weir::sequences
