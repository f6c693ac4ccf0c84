// SPDX-License-Identifier: Apache-2.0
// graphs/random_choices.cpp - arguments of the next call.
#include "graphs/sequence_state.hpp"

#include <algorithm>

namespace weir::graphs {

object_id sequence_state::any_stream(bool capturing) {
  const auto suits = [&](object_id s) {
    const stream_state& one = m.stream(s);
    if (one.kind == stream_kind::legacy)
      return concurrency == concurrency_mode::exclusive && !capturing && d.one_in(8);
    return !capturing || (one.capture >= 0 && m.capture(one.capture).valid);
  };
  const object_id found = any(m.streams, suits);
  return found >= 0 || !capturing ? found : any_stream(false);
}

object_id sequence_state::any_event(bool of_nodes) {
  return any(m.events, [&](object_id e) { return m.event(e).of_nodes == of_nodes; });
}

// Excludes graphs of invalidated captures, which are never returned.
object_id sequence_state::any_graph() {
  return any(m.graphs, [&](object_id g) {
    const object_id c = m.graph(m.root_of(g)).capture;
    return c < 0 || m.capture(c).valid;
  });
}

object_id sequence_state::known_graph() {
  const object_id g = any_graph();
  return g >= 0 && at(graphs, g) != nullptr ? g : -1;
}

object_id sequence_state::any_exec() {
  return any(m.execs, [&](object_id x) { return !m.exec(x).unknown; });
}

object_id sequence_state::any_node(object_id g) {
  std::vector<object_id> known;
  for (const object_id n : m.graph(g).nodes) {
    if (at(nodes, n) != nullptr) known.push_back(n);
  }
  return known.empty() ? -1 : known[d.below(static_cast<unsigned>(known.size()))];
}

std::vector<object_id> sequence_state::some_nodes(object_id g, unsigned most) {
  std::vector<object_id> chosen;
  for (unsigned more = d.below(most + 1); more > 0; --more) {
    const object_id n = any_node(g);
    if (n >= 0 && std::ranges::find(chosen, n) == chosen.end()) chosen.push_back(n);
  }
  return chosen;
}

// Each thread has its own default stream, which other threads cannot name.
unsigned sequence_state::thread_for(object_id stream) {
  if (m.stream(stream).kind == stream_kind::per_thread) return static_cast<unsigned>(stream) - 1;
  const capture_state* const c = m.capture_of(stream);
  return c != nullptr && !d.one_in(4) ? c->thread : d.below(thread_count);
}

// A copy reads the word of a memset in its graph; a memset sometimes writes another one's word.
work sequence_state::any_work(object_id g) {
  std::vector<int> sets;
  if (g >= 0) {
    for (const object_id n : m.graph(g).nodes) {
      if (m.node(n).kind == node_kind::set) sets.push_back(m.node(n).what.slot);
    }
  }
  const unsigned choice = target.has_slots() ? d.below(4) : 0;
  if (choice == 1 || (choice == 2 && sets.empty())) {
    const bool again = !sets.empty() && d.one_in(4);
    const int slot = again ? sets[d.below(static_cast<unsigned>(sets.size()))] : target.next_slot();
    return {work::kind::set, slot, next_value()};
  }
  if (choice == 2)
    return {work::kind::copy, target.next_slot(), 0,
            sets[d.below(static_cast<unsigned>(sets.size()))]};
  const int made = label_count_++;
  at(labels_, made) = target.label(made);
  return {work::kind::host, made};
}

std::string sequence_state::name(object_id stream) const {
  const stream_kind kind = m.streams[static_cast<std::size_t>(stream)].kind;
  if (kind == stream_kind::legacy) return "legacy";
  if (kind == stream_kind::per_thread) return fmt::format("own{}", stream - 1);
  return fmt::format("{}{}", kind == stream_kind::blocking ? "b" : "s", stream);
}

std::vector<CUgraphNode> handles_of(sequence_state& w, std::span<const object_id> nodes) {
  std::vector<CUgraphNode> handles;
  for (const object_id n : nodes)
    handles.push_back(n < 0 ? nullptr : sequence_state::at(w.nodes, n));
  return handles;
}

}  // namespace weir::graphs
