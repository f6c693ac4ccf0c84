// SPDX-License-Identifier: Apache-2.0
// schedules/ordering_bugs.cpp - the programs. Each says in its comment what it forgets.
#include "embedded/schedules/ordering_bugs.hpp"

#include <array>
#include <cstddef>

namespace weir::test {

namespace {

using abi::CUevent;
using abi::CUgraphExec;
using abi::CUstream;
using enum variant;

// The consumer does not wait for the producer.
bool missing_event(const recorder& r, variant kind, int distance) {
  CUstream producer = r.new_stream();
  CUstream consumer = r.new_stream();
  word* const x = r.new_word();
  word* const y = r.new_word();
  r.set(producer, x, 1);
  if (kind == repaired) r.join(consumer, producer);
  r.unrelated(consumer, distance - 1);
  r.copy(consumer, y, x);
  r.sync(consumer);
  r.sync(producer);
  return *y == 1;
}

// The next batch overwrites a buffer that another stream still reads; the host waits for the
// reader first.
bool overwritten_while_read(const recorder& r, variant kind, int distance) {
  CUstream reader = r.new_stream();
  CUstream loader = r.new_stream();
  word* const x = r.new_word();
  word* const y = r.new_word();
  *x = 1;
  r.copy(reader, y, x);
  if (kind == repaired) r.join(loader, reader);
  r.unrelated(loader, distance - 1);
  r.set(loader, x, 2);
  r.sync(reader);
  r.sync(loader);
  return *y == 1;
}

// Two streams write a word without an order between them.
bool two_writers(const recorder& r, variant kind, int distance) {
  CUstream first = r.new_stream();
  CUstream last = r.new_stream();
  word* const x = r.new_word();
  r.set(first, x, 1);
  if (kind == repaired) r.join(last, first);
  r.unrelated(last, distance - 1);
  r.set(last, x, 2);
  r.sync_all();
  return *x == 2;
}

// The host waits for an event that was recorded before the copy.
bool host_reads_too_early(const recorder& r, variant kind, int distance) {
  CUstream s = r.new_stream();
  CUstream other = r.new_stream();
  word* const x = r.new_word();
  CUevent ready = r.record(s);
  r.set(s, x, 1);
  if (kind == repaired) ready = r.record(s);
  r.unrelated(other, distance);
  r.sync(ready);
  r.sync(other);
  const word read = *x;
  r.sync(s);
  return read == 1;
}

// The host fills a staging buffer again while copies from it are queued.
bool staging_reused(const recorder& r, variant kind, int distance) {
  CUstream s = r.new_stream();
  CUstream other = r.new_stream();
  word* const staging = r.new_word();
  word* const x = r.new_word();
  word* const y = r.new_word();
  *staging = 1;
  r.copy(s, x, staging);
  if (kind == repaired) r.sync(s);
  r.unrelated(other, distance);
  r.sync(other);
  *staging = 2;
  r.copy(s, y, staging);
  r.sync(s);
  return *x == 1 && *y == 2;
}

// A ring of two staging buffers, each with a stream: the host waits only for the first one's copy.
bool half_a_ring(const recorder& r, variant kind, int distance) {
  CUstream streams[] = {r.new_stream(), r.new_stream()};
  word* const slots[] = {r.new_word(), r.new_word()};
  const std::array<word*, 6> out = r.new_words<6>();
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::size_t slot = i % 2;
    if (slot == 0 || kind == repaired) r.sync(streams[slot]);
    *slots[slot] = static_cast<word>(i);
    if (slot == 0) r.unrelated(streams[slot], distance - 1);
    r.copy(streams[slot], out[i], slots[slot]);
  }
  r.sync_all();
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (*out[i] != i) return false;
  }
  return true;
}

// The host writes the source of a copy after it has enqueued the copy.
bool source_written_too_late(const recorder& r, variant kind, int distance) {
  CUstream s = r.new_stream();
  word* const source = r.new_word();
  word* const x = r.new_word();
  if (kind == repaired) *source = 1;
  r.unrelated(s, distance - 1);
  r.copy(s, x, source);
  *source = 1;
  r.sync(s);
  return *x == 1;
}

// The main stream does not wait for the stream that it forked.
bool missing_join(const recorder& r, variant kind, int distance) {
  CUstream main = r.new_stream();
  CUstream side = r.new_stream();
  word* const x = r.new_word();
  word* const y = r.new_word();
  word* const out = r.new_word();
  r.set(main, x, 1);
  r.join(side, main);
  r.copy(side, y, x);
  if (kind == repaired) r.join(main, side);
  r.unrelated(main, distance - 1);
  r.copy(main, out, y);
  r.sync(main);
  r.sync(side);
  return *out == 1;
}

// The last stage waits for seven of eight workers.
bool one_worker_forgotten(const recorder& r, variant kind, int distance) {
  constexpr std::size_t workers = 8;
  constexpr std::size_t forgotten = 5;
  const std::array<word*, workers> parts = r.new_words<workers>();
  const std::array<word*, workers> results = r.new_words<workers>();
  CUstream last = r.new_stream();
  for (std::size_t i = 0; i < workers; ++i) {
    CUstream worker = r.new_stream();
    if (i != forgotten) r.unrelated(worker, distance - 1);
    r.set(worker, parts[i], 1);
    if (kind == repaired || i != forgotten) r.join(last, worker);
  }
  for (std::size_t i = 0; i < workers; ++i) r.copy(last, results[i], parts[i]);
  r.sync(last);
  r.sync_all();
  return *results[forgotten] == 1;
}

// An event is recorded before the last operation that it stands for.
bool recorded_too_early(const recorder& r, variant kind, int distance) {
  CUstream producer = r.new_stream();
  CUstream consumer = r.new_stream();
  word* const x = r.new_word();
  word* const y = r.new_word();
  r.set(producer, x, 1);
  CUevent ready = r.record(producer);
  r.set(producer, x, 2);
  if (kind == repaired) ready = r.record(producer);
  r.wait(consumer, ready);
  r.unrelated(consumer, distance - 1);
  r.copy(consumer, y, x);
  r.sync(consumer);
  r.sync(producer);
  return *y == 2;
}

// Memory is freed in its stream while another stream still reads it, and allocated again.
bool freed_while_read(const recorder& r, variant kind, int distance) {
  CUstream owner = r.new_stream();
  CUstream reader = r.new_stream();
  word* const out = r.new_word();
  word* const x = r.allocate(owner);
  r.set(owner, x, 1);
  r.join(reader, owner);
  r.copy(reader, out, x);
  if (kind == repaired) r.join(owner, reader);
  r.free(owner, x);
  r.unrelated(owner, distance - 1);
  word* const next = r.allocate(owner);
  r.set(owner, next, 2);
  r.sync(reader);
  r.sync(owner);
  r.free(owner, next);
  return *out == 1;
}

// The input of a graph is overwritten in another stream for the next launch.
bool graph_input_overwritten(const recorder& r, variant kind, int distance) {
  CUstream s = r.new_stream();
  CUstream loader = r.new_stream();
  word* const input = r.new_word();
  word* const outputs[] = {r.new_word(), r.new_word()};
  word* const output = r.new_word();
  CUgraphExec graph = r.graph(s, [&] { r.copy(s, output, input); });
  for (word i = 0; i < 2; ++i) {
    r.unrelated(loader, distance - 1);
    r.set(loader, input, i + 1);
    r.join(s, loader);
    r.launch(graph, s);
    r.copy(s, outputs[i], output);
    if (kind == repaired) r.join(loader, s);
  }
  r.sync(s);
  r.sync(loader);
  return *outputs[0] == 1 && *outputs[1] == 2;
}

// Two graphs that use one scratch buffer are launched in two streams.
bool graphs_share_scratch(const recorder& r, variant kind, int distance) {
  CUstream s = r.new_stream();
  CUstream t = r.new_stream();
  word* const scratch = r.new_word();
  word* const outputs[] = {r.new_word(), r.new_word()};
  CUgraphExec graphs[2] = {};
  for (word i = 0; i < 2; ++i) {
    graphs[i] = r.graph(s, [&] {
      if (i == 1) r.unrelated(s, distance - 1);
      r.set(s, scratch, i + 1);
      r.copy(s, outputs[i], scratch);
    });
  }
  r.launch(graphs[0], s);
  if (kind == repaired) r.join(t, s);
  r.launch(graphs[1], t);
  r.sync(s);
  r.sync(t);
  return *outputs[0] == 1 && *outputs[1] == 2;
}

// A flag is written before the data that it announces.
bool flag_before_data(const recorder& r, variant kind, int distance) {
  CUstream producer = r.new_stream();
  CUstream consumer = r.new_stream();
  word* const flag = r.new_word();
  word* const x = r.new_word();
  word* const y = r.new_word();
  if (kind != repaired) r.write_flag(producer, flag, 1);
  r.set(producer, x, 1);
  if (kind == repaired) r.write_flag(producer, flag, 1);
  r.wait_for_flag(consumer, flag, 1);
  r.unrelated(consumer, distance - 1);
  r.copy(consumer, y, x);
  r.sync(producer);
  r.sync(consumer);
  return *y == 1;
}

struct counter {
  word value = 0;
  word read[2] = {};
};

// Two streams increment a counter, each with a host function that reads and one that writes.
bool lost_update(const recorder& r, variant kind, int distance) {
  static counter c;
  CUstream s = r.new_stream();
  CUstream t = r.new_stream();
  r.call(
      s, [](void*) { c.read[0] = c.value; }, nullptr);
  r.call(
      s, [](void*) { c.value = c.read[0] + 1; }, nullptr);
  if (kind == repaired) r.join(t, s);
  r.unrelated(t, distance - 1);
  r.call(
      t, [](void*) { c.read[1] = c.value; }, nullptr);
  r.call(
      t, [](void*) { c.value = c.read[1] + 1; }, nullptr);
  r.sync(s);
  r.sync(t);
  return c.value == 2;
}

// A reader copies two words that a writer changes together.
bool torn_read(const recorder& r, variant kind, int distance) {
  CUstream writer = r.new_stream();
  CUstream reader = r.new_stream();
  word* const pair[] = {r.new_word(), r.new_word()};
  word* const seen[] = {r.new_word(), r.new_word()};
  r.set(writer, pair[0], 1);
  r.set(writer, pair[1], 1);
  if (kind == repaired) r.join(reader, writer);
  r.unrelated(reader, distance - 1);
  r.copy(reader, seen[0], pair[0]);
  r.copy(reader, seen[1], pair[1]);
  r.sync(reader);
  r.sync(writer);
  return *seen[0] == *seen[1];
}

// A value that a stream passes on is overwritten in between: the bug needs two changes of streams.
bool passed_on_and_overwritten(const recorder& r, variant kind, int distance) {
  CUstream a = r.new_stream();
  CUstream b = r.new_stream();
  word* const p = r.new_word();
  word* const q = r.new_word();
  word* const m = r.new_word();
  word* const seen = r.new_word();
  r.set(a, p, 1);
  if (kind == repaired) r.join(b, a);
  r.unrelated(b, distance - 1);
  r.copy(b, m, p);
  r.copy(b, q, m);
  r.set(b, q, 7);
  if (kind == repaired) r.join(a, b);
  r.copy(a, seen, q);
  r.sync(a);
  r.sync(b);
  return *seen != 1;
}

constexpr ordering_bug bugs[] = {
    {"missing event", 1, missing_event},
    {"overwritten while read", 1, overwritten_while_read},
    {"two writers", 1, two_writers},
    {"host reads too early", 1, host_reads_too_early},
    {"staging reused", 1, staging_reused},
    {"half a ring", 1, half_a_ring},
    {"source written too late", 1, source_written_too_late},
    {"missing join", 1, missing_join},
    {"one worker forgotten", 1, one_worker_forgotten},
    {"recorded too early", 1, recorded_too_early},
    {"freed while read", 1, freed_while_read},
    {"graph input overwritten", 1, graph_input_overwritten},
    {"flag before data", 1, flag_before_data},
    {"graphs share scratch", 2, graphs_share_scratch},
    {"lost update", 2, lost_update},
    {"torn read", 2, torn_read},
    {"passed on and overwritten", 3, passed_on_and_overwritten},
};

}  // namespace

std::span<const ordering_bug> ordering_bugs() noexcept { return bugs; }

}  // namespace weir::test
