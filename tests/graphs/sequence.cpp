// SPDX-License-Identifier: Apache-2.0
// graphs/sequence.cpp - runs one sequence, including set-up and clean-up.
#include "graphs/sequence.hpp"

#include <array>
#include <utility>

namespace weir::graphs {

namespace {

void step(sequence_state& w) {
  static const std::array families{capture_actions(), stream_actions(), node_actions(),
                                   graph_actions(),   exec_actions(),   held_actions()};
  static const unsigned all = [] {
    unsigned sum = 0;
    for (const auto& family : families) {
      for (const action& a : family) sum += a.weight;
    }
    return sum;
  }();
  unsigned choice = w.d.below(all);
  for (const auto& family : families) {
    for (const action& a : family) {
      if (choice < a.weight) return a.act(w);
      choice -= a.weight;
    }
  }
}

// Without initial objects, many steps would do nothing.
void create_initial_objects(sequence_state& w) {
  for (int i = 0; i < 3; ++i) {
    w.m.streams.push_back({i == 0 ? stream_kind::blocking : stream_kind::non_blocking});
    const auto s = static_cast<object_id>(w.m.streams.size()) - 1;
    sequence_state::at(w.tails, s) = nullptr;
    w.call(0, "cuStreamCreate() " + w.name(s), CUDA_SUCCESS, [&] {
      return w.driver().cuStreamCreate(&sequence_state::at(w.streams, s),
                                       i == 0 ? CU_STREAM_DEFAULT : CU_STREAM_NON_BLOCKING);
    });
  }
  for (int i = 0; i < 3; ++i) {
    w.m.events.push_back({.of_nodes = i == 2});
    w.call(0, fmt::format("cuEventCreate() e{}", i), CUDA_SUCCESS, [&] {
      return w.driver().cuEventCreate(&sequence_state::at(w.events, i), CU_EVENT_DISABLE_TIMING);
    });
  }
}

}  // namespace

result run(driver_under_test& in, concurrency_mode concurrency, std::uint64_t seed, unsigned steps,
           const std::set<unsigned>& left_out) {
  result r;
  sequence_state w{in, concurrency};
  try {
    create_initial_objects(w);
    for (r.step = 0; r.step < steps; ++r.step) {
      if (left_out.contains(r.step)) continue;
      w.d = choice_source{seed * 1'000'003 + r.step};
      step(w);
    }
    w.settle();
    for (std::size_t i = 0; i < w.m.graphs.size(); ++i) {
      if (w.m.graphs[i].is_alive && w.m.graphs[i].capture < 0)
        w.describe(static_cast<object_id>(i));
    }
    w.end();
  } catch (const finding& f) {
    r.finding = f.what();
    w.open();  // other sequences may be blocked
  }
  r.text = in.calls().text();
  r.waited = w.waited();
  return r;
}

}  // namespace weir::graphs
