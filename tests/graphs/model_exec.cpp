// SPDX-License-Identifier: Apache-2.0
// graphs/model_exec.cpp - executables: instantiated, launched, changed (rules 13 and 14).
#include "graphs/model.hpp"

#include <algorithm>

namespace weir::graphs {

namespace {

std::vector<std::size_t> in_order(const shape& of) {
  std::vector<std::size_t> order;
  std::vector<bool> taken(of.entries.size());
  for (bool more = true; more;) {
    more = false;
    for (std::size_t i = 0; i < of.entries.size(); ++i) {
      const auto is_taken = [&](std::size_t before) { return taken[before]; };
      if (taken[i] || !std::ranges::all_of(of.entries[i].before, is_taken)) continue;
      taken[i] = more = true;
      order.push_back(i);
    }
  }
  return order;
}

bool has_cycle(const shape& of) {
  return in_order(of).size() != of.entries.size() ||
         std::ranges::any_of(of.entries, [](const shape::entry& e) {
           return e.inside != nullptr && has_cycle(*e.inside);
         });
}

int count_records(const shape& of, object_id event) {
  int count = 0;
  for (const shape::entry& e : of.entries) {
    if (e.kind == node_kind::record && e.event == event) ++count;
    if (e.inside != nullptr) count += count_records(*e.inside, event);
  }
  return count;
}

// Returns true if the graphs were built identically, so that an update pairs the nodes in order.
bool has_same_shape(const shape& one, const shape& other) {
  return !one.edited && !other.edited &&
         std::ranges::equal(
             one.entries, other.entries, [](const shape::entry& a, const shape::entry& b) {
               return a.kind == b.kind && a.captured == b.captured && a.before == b.before &&
                      (a.inside == nullptr || has_same_shape(*a.inside, *b.inside));
             });
}

// Returns what an update must not change, however it pairs the nodes.
std::vector<std::size_t> profile(const shape& of) {
  std::vector<std::size_t> counts(static_cast<std::size_t>(node_kind::child) + 4);
  std::vector<bool> has_after(of.entries.size());
  for (const shape::entry& e : of.entries) {
    ++counts[static_cast<std::size_t>(e.kind)];
    counts[static_cast<std::size_t>(node_kind::child) + 1] += e.before.size();
    if (e.before.empty()) ++counts[static_cast<std::size_t>(node_kind::child) + 2];
    for (const std::size_t before : e.before) has_after[before] = true;
  }
  counts.back() = static_cast<std::size_t>(std::ranges::count(has_after, false));
  return counts;
}

bool any_disabled(const shape& of) {
  return std::ranges::any_of(of.entries, [](const shape::entry& e) {
    return !e.enabled || (e.inside != nullptr && any_disabled(*e.inside));
  });
}

// Copies what an update changes: not the set of nodes, nor whether they are enabled.
void copy_parameters(shape& target, const shape& source) {
  for (std::size_t i = 0; i < target.entries.size(); ++i) {
    target.entries[i].what = source.entries[i].what;
    target.entries[i].event = source.entries[i].event;
    if (target.entries[i].inside != nullptr)
      copy_parameters(*target.entries[i].inside, *source.entries[i].inside);
  }
}

bool has_work(const shape& of) {
  return std::ranges::any_of(of.entries, [](const shape::entry& e) {
    return e.inside != nullptr ? has_work(*e.inside) : e.enabled && e.kind != node_kind::empty;
  });
}

void forget_origins(shape& of) {
  for (shape::entry& e : of.entries) {
    e.origin = -1;
    if (e.inside != nullptr) forget_origins(*e.inside);
  }
}

}  // namespace

std::shared_ptr<shape> model::shape_of(object_id g) {
  auto made = std::make_shared<shape>();
  made->edited = graph(g).edited;
  std::map<object_id, std::size_t> places;
  for (const object_id n : graph(g).nodes) places.emplace(n, places.size());
  for (const object_id n : graph(g).nodes) {
    const node_state& s = node(n);
    shape::entry e{
        .origin = n, .kind = s.kind, .what = s.what, .event = s.event, .captured = s.captured};
    for (const object_id before : s.before) e.before.push_back(places.at(before));
    if (s.inside >= 0) e.inside = shape_of(s.inside);
    made->entries.push_back(std::move(e));
  }
  return made;
}

expected_result model::instantiate(unsigned thread, object_id g, object_id& made) {
  if (const expected_result refused = call_unsafe(thread); refused.code != CUDA_SUCCESS)
    return refused;
  if (graph(g).parent >= 0) return CUDA_ERROR_NOT_SUPPORTED;
  std::shared_ptr<shape> what = shape_of(g);
  if (has_cycle(*what)) return CUDA_ERROR_INVALID_VALUE;
  made = static_cast<object_id>(execs.size());
  execs.push_back({.what = std::move(what)});
  return CUDA_SUCCESS;
}

expected_result model::destroy_exec(unsigned thread, object_id x) {
  const expected_result refused = call_unsafe(thread);
  if (refused.code == CUDA_SUCCESS) exec(x).is_alive = false;
  return refused;
}

// Runs all nodes of a graph, and a vertex behind them.
history::vertex model::run(const shape& what, history::vertex behind, const shape& whole,
                           std::map<object_id, int>& records) {
  std::vector<history::vertex> done(what.entries.size());
  std::vector<history::vertex> all{behind};
  for (const std::size_t i : in_order(what)) {
    const shape::entry& e = what.entries[i];
    std::vector<history::vertex> before{behind};
    for (const std::size_t b : e.before) before.push_back(done[b]);
    // Rule 13.11: the node waits for the event's record at the launch. For an event recorded in
    // this graph, the rules leave open which record that is.
    if (e.kind == node_kind::wait &&
        records.try_emplace(e.event, count_records(whole, e.event)).first->second == 0)
      before.push_back(event(e.event).at);
    done[i] = executed.add(e.enabled ? e.what : work{}, before);
    if (e.inside != nullptr) done[i] = run(*e.inside, done[i], whole, records);
    if (e.kind == node_kind::record) {
      event_state& recorded = event(e.event);
      recorded.recorded = recorded.may_be_pending = true;
      recorded.at = count_records(whole, e.event) == 1 ? done[i] : history::none;
    }
    all.push_back(done[i]);
  }
  return executed.add({}, all);
}

expected_result model::launch(object_id x, object_id s) {
  if (const expected_result refused = query_flags(s); refused.code != CUDA_SUCCESS) return refused;
  const bool works =
      has_work(*exec(x).what);  // launches without work are ordered by their streams only (13.7)
  const history::vertex begin = run(s, {}, works ? exec(x).last : history::none);
  std::map<object_id, int> records;
  stream(s).last = run(*exec(x).what, begin, *exec(x).what, records);
  if (works) exec(x).last = stream(s).last;
  return CUDA_SUCCESS;
}

expected_result model::upload(object_id s) { return query_flags(s); }

expected_result model::update(object_id x, object_id g) {
  const std::shared_ptr<shape> to = shape_of(g);
  if (has_same_shape(*exec(x).what, *to)) return CUDA_SUCCESS;
  if (profile(*exec(x).what) != profile(*to)) return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
  return {CUDA_SUCCESS, CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE};
}

void model::updated(object_id x, object_id g, bool success) {
  if (!success) return;
  exec_state& changed = exec(x);
  const std::shared_ptr<shape> to = shape_of(g);
  if (has_same_shape(*changed.what, *to)) return copy_parameters(*changed.what, *to);
  changed.unknown = changed.unknown || any_disabled(*changed.what);
  forget_origins(*to);
  to->edited = true;
  changed.what = to;
}

shape::entry* model::find(object_id x, object_id n) {
  for (shape::entry& e : exec(x).what->entries) {
    if (e.origin == n) return &e;
  }
  return nullptr;
}

}  // namespace weir::graphs
