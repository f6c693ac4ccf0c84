// SPDX-License-Identifier: Apache-2.0
// graphs/calls_while_held.cpp - many calls before any of their work runs, and many concurrent
// calls.
#include "graphs/sequence_state.hpp"

#include <algorithm>

namespace weir::graphs {
namespace {

bool refers_to_events(const shape& s) {
  return std::ranges::any_of(s.entries, [](const shape::entry& e) {
    return e.event >= 0 || (e.inside != nullptr && refers_to_events(*e.inside));
  });
}

// All threads at once, each in its own stream: work that becomes nodes or runs, records and waits
// of its own event, launches of its own executable. The results do not depend on the interleaving.
void at_once(sequence_state& w) {
  if (w.has_much_work()) w.settle();
  std::vector<object_id> streams, execs, events;
  const auto is_new = [](const std::vector<object_id>& of, object_id n) {
    return std::ranges::find(of, n) == of.end();
  };
  w.begin_burst();
  for (unsigned thread = 0; thread < thread_count; ++thread) {
    const object_id s = w.any(w.m.streams, [&](object_id one) {
      const stream_kind kind = w.m.stream(one).kind;
      const bool own = kind == stream_kind::per_thread && static_cast<unsigned>(one) == thread + 1;
      return is_new(streams, one) &&
             (own || kind == stream_kind::blocking || kind == stream_kind::non_blocking);
    });
    const object_id e = w.any(
        w.m.events, [&](object_id one) { return !w.m.event(one).of_nodes && is_new(events, one); });
    const object_id x = w.any(w.m.execs, [&](object_id one) {
      return !w.m.exec(one).unknown && is_new(execs, one) && !refers_to_events(*w.m.exec(one).what);
    });
    if (s < 0) continue;
    streams.push_back(s);
    if (e >= 0) events.push_back(e);
    if (x >= 0) execs.push_back(x);
    const capture_state* const c = w.m.capture_of(s);
    bool recorded = false;
    for (unsigned left = 2 + w.d.below(6); left > 0; --left) {
      const unsigned choice = w.d.below(5);
      if (choice == 0 && x >= 0 && c == nullptr && !w.has_much_work()) {
        launch_in(w, thread, x, s);
      } else if (choice == 1 && e >= 0) {
        object_id made = -1;
        const bool waits = recorded && w.d.below(2) == 0;
        const expected_result expected =
            waits ? w.m.wait(s, e, 0, made) : w.m.record(e, s, 0, made);
        recorded = recorded || expected.code == CUDA_SUCCESS;
        w.call(
            thread,
            fmt::format("{}({}, e{})", waits ? "cuStreamWaitEvent" : "cuEventRecord", w.name(s), e),
            expected,
            [&w, waits, stream = sequence_state::at(w.streams, s),
             event = sequence_state::at(w.events, e)] {
              return waits ? w.driver().cuStreamWaitEvent(stream, event, 0)
                           : w.driver().cuEventRecord(event, stream);
            });
        if (c == nullptr) w.mark(thread, s);
      } else {
        submit(w, thread, s, w.any_work(c == nullptr ? -1 : c->graph));
      }
    }
  }
  w.end_burst();
}

// Some streams wait for the host while others run. Meanwhile no call may wait for them: a
// concurrent sequence's call could, and block the driver for all.
void hold(sequence_state& w) {
  if (w.concurrency == concurrency_mode::concurrent) return;
  for (unsigned left = 1 + w.d.below(2); left > 0; --left) {
    const object_id s = w.any(w.m.streams, [&](object_id one) {
      return w.m.stream(one).capture < 0 && w.m.stream(one).kind != stream_kind::legacy;
    });
    if (s < 0) continue;
    w.hold(s);
    // Nodes of graphs may wait for the gate, too.
    const unsigned thread = w.thread_for(s);
    const object_id e = w.any_event(true);
    submit(w, thread, s, w.any_work(-1));
    if (e >= 0) record(w, thread, e, s, 0);
  }
  static constexpr void (*acts[])(sequence_state&) = {
      launch,         launch,         update,         set_exec_node, enable,
      work_in_stream, record_or_wait, record_or_wait, at_once};
  for (unsigned left = 2 + w.d.below(8); left > 0; --left) acts[w.d.below(std::size(acts))](w);
  w.open();
}

}  // namespace

std::span<const action> held_actions() {
  static constexpr action all[] = {{4, at_once}, {6, hold}};
  return all;
}

}  // namespace weir::graphs
