// model/lane_choice.cpp - lanes for what can be held up, and for more work than one thread should do.
#include "embedded/model/graph/lane_choice.hpp"

#include <algorithm>
#include <atomic>
#include <numeric>

#include "embedded/engine/scheduler.hpp"
#include "embedded/model/graph/drawn_order.hpp"

namespace weir::embedded::model {

namespace {

constexpr std::uint32_t none = flat_graph::none;

// From this many lanes on, nodes that wait for nothing outside share lanes.
constexpr std::uint32_t many_lanes = 32;

// Nanoseconds after which another thread has begun what it was told of.
constexpr std::uint64_t crossing = 20'000;

// What the choice remembers of a lane.
struct lane_so_far {
  std::uint32_t last = none;  // node
  bool waits = false;         // has one that waits for something outside
  bool only_host = false;     // has host functions only
};

class chooser {
 public:
  chooser(const flat_graph& of, const lane_rules& by, lane_choice& into) : flat_{of}, rules_{by}, chosen_{into} {}

  void choose();

 private:
  void place_free_nodes();
  void spread_free_nodes();
  [[nodiscard]] std::uint32_t lane_for_one_of_many(std::uint32_t node);
  [[nodiscard]] std::uint32_t lane_for_held(std::uint32_t node);
  [[nodiscard]] std::uint32_t lane_that_ends_before(std::uint32_t node) const;
  std::uint32_t new_lane();
  void put(std::uint32_t node, std::uint32_t lane);

  const flat_graph& flat_;
  const lane_rules& rules_;
  lane_choice& chosen_;
  std::vector<std::uint32_t> order_;
  std::vector<lane_so_far> lanes_{1};
  std::uint32_t shared_lane_ = 0;   // the last that was given to a node that needs none of its own
  std::uint32_t host_lane_ = none;  // where the next host function goes that follows none
};

void chooser::choose() {
  chosen_.lane_of.assign(flat_.outside(), 0);
  chosen_.sequence.reserve(flat_.outside());
  if (rules_.seed) order_ = drawn_order(flat_, *rules_.seed);
  std::uint64_t work = 0;
  for (std::uint32_t i = 0; i < flat_.outside(); ++i) work += flat_.nodes()[i].held ? 0 : flat_.nodes()[i].cost;
  if (rules_.workers > 1 && !rules_.node_by_node && work > 2 * crossing) {
    spread_free_nodes();
  } else {
    place_free_nodes();
  }
  for (std::uint32_t i = 0; i < flat_.outside(); ++i) {
    const std::uint32_t node = order_.empty() ? i : order_[i];
    if (flat_.nodes()[node].held) put(node, lane_for_held(node));
  }
  chosen_.lanes = static_cast<std::uint32_t>(lanes_.size());
}

void chooser::put(std::uint32_t node, std::uint32_t lane) {
  const flat_node& what = flat_.nodes()[node];
  lane_so_far& to = lanes_[lane];
  to.only_host = what.host && !what.waits && (to.only_host || to.last == none);
  to.last = node;
  to.waits = to.waits || what.waits;
  chosen_.lane_of[node] = lane;
  chosen_.sequence.push_back(node);
}

std::uint32_t chooser::new_lane() {
  lanes_.emplace_back();
  return static_cast<std::uint32_t>(lanes_.size() - 1);
}

std::uint32_t chooser::lane_that_ends_before(std::uint32_t node) const {
  for (const std::uint32_t before : flat_.dependencies_of(node)) {
    if (lanes_[chosen_.lane_of[before]].last == before) return chosen_.lane_of[before];
  }
  return none;
}

// All nodes that nothing can hold up come first.
void chooser::place_free_nodes() {
  for (std::uint32_t i = 0; i < flat_.outside(); ++i) {
    const std::uint32_t node = order_.empty() ? i : order_[i];
    if (!flat_.nodes()[node].held) put(node, rules_.node_by_node ? lane_for_one_of_many(node) : 0);
  }
}

std::uint32_t chooser::lane_for_one_of_many(std::uint32_t node) {
  if (lanes_[0].last == none) return 0;
  if (const std::uint32_t lane = lane_that_ends_before(node); lane != none) return lane;
  if (lanes_.size() < many_lanes) return new_lane();
  return shared_lane_ = (shared_lane_ + 1) % many_lanes;
}

// Each node in turn goes where it can begin first, if what it depends on in another lane is known here a crossing later.
void chooser::spread_free_nodes() {
  std::vector<std::uint64_t> free_at(rules_.workers, crossing);
  free_at[0] = 0;
  std::vector<std::uint64_t> ends(flat_.outside());
  for (std::uint32_t node = 0; node < flat_.outside(); ++node) {
    if (flat_.nodes()[node].held) continue;
    // The last of what it depends on, and the last of that in other lanes than the last.
    std::uint64_t last = 0;
    std::uint64_t last_elsewhere = 0;
    std::uint32_t lane_of_last = 0;
    for (const std::uint32_t before : flat_.dependencies_of(node)) {
      const std::uint32_t lane = chosen_.lane_of[before];
      if (ends[before] > last) {
        if (lane != lane_of_last) last_elsewhere = last;
        last = ends[before];
        lane_of_last = lane;
      } else if (lane != lane_of_last) {
        last_elsewhere = std::max(last_elsewhere, ends[before]);
      }
    }
    std::uint32_t best = lane_of_last;
    std::uint64_t begin = std::numeric_limits<std::uint64_t>::max();
    for (std::uint32_t i = 0; i < rules_.workers; ++i) {
      const std::uint32_t lane = (lane_of_last + i) % rules_.workers;
      const std::uint64_t foreign = lane == lane_of_last ? last_elsewhere : last;
      const std::uint64_t can = std::max(free_at[lane], foreign == 0 ? 0 : foreign + crossing);
      if (can < begin) {
        begin = can;
        best = lane;
      }
    }
    if (best >= lanes_.size()) best = new_lane();  // those without a node are all alike
    free_at[best] = ends[node] = begin + flat_.nodes()[node].cost;
    put(node, best);
  }
}

// It goes on where one that it depends on has ended, or in another lane.
std::uint32_t chooser::lane_for_held(std::uint32_t node) {
  const flat_node& what = flat_.nodes()[node];
  if (lanes_[0].last == none) return 0;
  if (const std::uint32_t lane = lane_that_ends_before(node); lane != none) return lane;
  if (what.host && !what.waits && !rules_.node_by_node) {
    if (host_lane_ == none || !lanes_[host_lane_].only_host) {
      host_lane_ = lanes_[0].only_host ? 0 : none;
    }
    if (host_lane_ != none) return host_lane_;
    if (lanes_.size() < many_lanes) return host_lane_ = new_lane();
  }
  if (!what.waits && lanes_.size() >= many_lanes) {
    for (std::uint32_t tries = 1; tries < many_lanes; ++tries) {
      shared_lane_ = shared_lane_ % (many_lanes - 1) + 1;
      if (!lanes_[shared_lane_].waits) return shared_lane_;
    }
  }
  return new_lane();
}

}  // namespace

lane_rules lane_rules::of_schedule() {
  static std::atomic<std::uint64_t> graphs_so_far{0};
  const engine::scheduler& scheduler = engine::scheduler::instance();
  const engine::schedule how = scheduler.how();
  lane_rules rules;
  rules.workers = scheduler.most_workers();
  rules.node_by_node = how.kind != engine::schedule_kind::parallel;
  if (scheduler.stepping()) rules.seed = how.seed + graphs_so_far.fetch_add(1, std::memory_order_relaxed);
  return rules;
}

lane_choice choose_lanes(const flat_graph& of, const lane_rules& by) {
  lane_choice made;
  chooser{of, by, made}.choose();
  return made;
}

}  // namespace weir::embedded::model
