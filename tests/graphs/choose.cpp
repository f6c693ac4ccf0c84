// graphs/choose.cpp - what the next call is given.
#include "graphs/world.hpp"

#include <algorithm>

namespace weir::graphs {

number world::any_stream(bool capturing) {
  const auto suits = [&](number s) {
    const stream_state& one = m.stream(s);
    if (one.kind == stream_kind::legacy) return with == company::alone && !capturing && d.once_in(8);
    return !capturing || (one.capture >= 0 && m.capture(one.capture).valid);
  };
  const number found = any(m.streams, suits);
  return found >= 0 || !capturing ? found : any_stream(false);
}

number world::any_event(bool of_nodes) {
  return any(m.events, [&](number e) { return m.event(e).of_nodes == of_nodes; });
}

// Not one of a broken capture: nobody gets it.
number world::any_graph() {
  return any(m.graphs, [&](number g) {
    const number c = m.graph(m.root_of(g)).capture;
    return c < 0 || m.capture(c).valid;
  });
}

number world::known_graph() {
  const number g = any_graph();
  return g >= 0 && at(graphs, g) != nullptr ? g : -1;
}

number world::any_exec() {
  return any(m.execs, [&](number x) { return !m.exec(x).unknown; });
}

number world::any_node(number g) {
  std::vector<number> known;
  for (const number n : m.graph(g).nodes) {
    if (at(nodes, n) != nullptr) known.push_back(n);
  }
  return known.empty() ? -1 : known[d.below(static_cast<unsigned>(known.size()))];
}

std::vector<number> world::some_nodes(number g, unsigned most) {
  std::vector<number> chosen;
  for (unsigned more = d.below(most + 1); more > 0; --more) {
    const number n = any_node(g);
    if (n >= 0 && std::ranges::find(chosen, n) == chosen.end()) chosen.push_back(n);
  }
  return chosen;
}

// A thread has one default stream of its own, which no other can name.
unsigned world::thread_for(number stream) {
  if (m.stream(stream).kind == stream_kind::per_thread) return static_cast<unsigned>(stream) - 1;
  const capture_state* const c = m.capture_of(stream);
  return c != nullptr && !d.once_in(4) ? c->thread : d.below(thread_count);
}

// A copy takes from a set of the same graph; a set sometimes writes where another one does.
work world::any_work(number g) {
  std::vector<int> sets;
  if (g >= 0) {
    for (const number n : m.graph(g).nodes) {
      if (m.node(n).kind == node_kind::set) sets.push_back(m.node(n).what.slot);
    }
  }
  const unsigned choice = on.has_slots() ? d.below(4) : 0;
  if (choice == 1 || (choice == 2 && sets.empty())) {
    const bool again = !sets.empty() && d.once_in(4);
    const int slot = again ? sets[d.below(static_cast<unsigned>(sets.size()))] : on.next_slot();
    return {work::kind::set, slot, next_value()};
  }
  if (choice == 2) return {work::kind::copy, on.next_slot(), 0, sets[d.below(static_cast<unsigned>(sets.size()))]};
  const int made = label_count_++;
  at(labels_, made) = on.label(made);
  return {work::kind::host, made};
}

std::string world::name(number stream) const {
  const stream_kind kind = m.streams[static_cast<std::size_t>(stream)].kind;
  if (kind == stream_kind::legacy) return "legacy";
  if (kind == stream_kind::per_thread) return fmt::format("own{}", stream - 1);
  return fmt::format("{}{}", kind == stream_kind::blocking ? "b" : "s", stream);
}

std::vector<CUgraphNode> handles_of(world& w, std::span<const number> nodes) {
  std::vector<CUgraphNode> handles;
  for (const number n : nodes) handles.push_back(n < 0 ? nullptr : world::at(w.nodes, n));
  return handles;
}

}  // namespace weir::graphs
