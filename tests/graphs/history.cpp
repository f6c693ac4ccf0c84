// SPDX-License-Identifier: Apache-2.0
// graphs/history.cpp - the order of submitted work, and the observations that it allows.
#include "graphs/history.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace weir::graphs {

history::vertex history::add(const work& what, std::span<const vertex> before) {
  const auto made = static_cast<vertex>(vertices_.size());
  entry e{what, std::vector<bool>(vertices_.size())};
  for (const vertex v : before) {
    if (v == none) continue;
    const std::vector<bool>& source = vertices_[static_cast<std::size_t>(v)].after;
    for (std::size_t i = 0; i < source.size(); ++i) e.after[i] = e.after[i] || source[i];
    e.after[static_cast<std::size_t>(v)] = true;
  }
  vertices_.push_back(std::move(e));
  if (what.what == work::kind::host) hosts_[what.slot].push_back(made);
  if (what.writes()) writers_[what.slot].push_back(made);
  return made;
}

void history::clear() {
  vertices_.clear();
  hosts_.clear();
  writers_.clear();
}

// The vertex behind the last stands for the end, which comes after all.
bool history::comes_before(vertex one, vertex other) const {
  if (one >= other) return false;
  if (static_cast<std::size_t>(other) == vertices_.size()) return true;
  return vertices_[static_cast<std::size_t>(other)].after[static_cast<std::size_t>(one)];
}

// Returns the values of the last writes before the reader, and of writes unordered with it.
std::vector<std::uint32_t> history::may_hold(int slot, vertex reader) const {
  std::vector<std::uint32_t> values;
  bool written = false;
  if (const auto found = writers_.find(slot); found != writers_.end()) {
    for (const vertex w : found->second) {
      if (w == reader || comes_before(reader, w)) continue;
      written = written || comes_before(w, reader);
      const bool overwritten = std::ranges::any_of(found->second, [&](vertex other) {
        return comes_before(w, other) && comes_before(other, reader);
      });
      if (overwritten) continue;
      const work& what = vertices_[static_cast<std::size_t>(w)].what;
      if (what.what == work::kind::set) {
        values.push_back(what.value);
      } else {
        const std::vector<std::uint32_t> copied = may_hold(what.source, w);
        values.insert(values.end(), copied.begin(), copied.end());
      }
    }
  }
  if (!written) values.push_back(0);
  return values;
}

std::string history::check_words(vertex reader, std::span<const std::uint32_t> words) const {
  for (const auto& [slot, writers] : writers_) {
    const auto at = static_cast<std::size_t>(slot);
    if (at >= words.size()) continue;  // allocated after the host function had run
    const std::vector<std::uint32_t> allowed = may_hold(slot, reader);
    if (std::ranges::find(allowed, words[at]) == allowed.end())
      return fmt::format("word {} holds {}, not {}", slot, words[at], allowed);
  }
  return {};
}

// For each label, the number of runs before and after a log entry must match the number of vertices
// before and after its vertex.
std::string history::check_order(const std::vector<observation>& log, std::size_t at,
                                 vertex v) const {
  for (const auto& [label, vertices] : hosts_) {
    const auto same = [&](const observation& one) { return one.label == label; };
    const auto middle = log.begin() + static_cast<std::ptrdiff_t>(at);
    const auto earlier =
        std::ranges::count_if(vertices, [&](vertex other) { return comes_before(other, v); });
    const auto later =
        std::ranges::count_if(vertices, [&](vertex other) { return comes_before(v, other); });
    if (std::count_if(log.begin(), middle, same) < earlier)
      return fmt::format("h{} ran before all of h{} that it comes after", log[at].label, label);
    if (std::count_if(middle + 1, log.end(), same) < later)
      return fmt::format("h{} ran after some of h{} that it comes before", log[at].label, label);
  }
  return {};
}

std::string history::check(const std::vector<observation>& log,
                           std::span<const std::uint32_t> at_end) const {
  std::map<int, std::vector<std::size_t>> ran;
  for (std::size_t i = 0; i < log.size(); ++i) ran[log[i].label].push_back(i);
  for (const auto& [label, entries] : ran) {
    if (!hosts_.contains(label)) return fmt::format("h{} ran, which was not launched", label);
  }
  for (const auto& [label, vertices] : hosts_) {
    const std::vector<std::size_t>& entries = ran[label];
    if (entries.size() != vertices.size())
      return fmt::format("h{} ran {} times, not {}", label, entries.size(), vertices.size());
    // Only if the host functions of a label are ordered among themselves is it known which one ran
    // when.
    const auto unordered = [&](vertex one, vertex next) { return !comes_before(one, next); };
    if (std::ranges::adjacent_find(vertices, unordered) != vertices.end()) continue;
    for (std::size_t i = 0; i < vertices.size(); ++i) {
      if (std::string found = check_order(log, entries[i], vertices[i]); !found.empty())
        return found;
      if (const std::string found = check_words(vertices[i], log[entries[i]].words); !found.empty())
        return fmt::format("to h{} {}", label, found);
    }
  }
  const std::string found = check_words(static_cast<vertex>(vertices_.size()), at_end);
  return found.empty() ? found : "at the end " + found;
}

}  // namespace weir::graphs
