// SPDX-License-Identifier: Apache-2.0
// Graphs with a node of every kind, launched repeatedly with random changes in between: every
// launch has the results of its parameters. 2000 launches each, or WEIR_SOAK_LAUNCHES.
#include <weir/core/to_string.hpp>
#include <weir/graph/nodes/child_graph_node.hpp>
#include <weir/graph/nodes/conditional_node.hpp>
#include <weir/graph/nodes/copy_node.hpp>
#include <weir/graph/nodes/event_nodes.hpp>
#include <weir/graph/nodes/value_batch_node.hpp>

#include <cstdlib>
#include <random>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "soak/every_kind/graph_scenario.hpp"

namespace weir::test {
namespace {

unsigned launches() {
  const char* const configured = std::getenv("WEIR_SOAK_LAUNCHES");
  return configured == nullptr ? 2000
                               : static_cast<unsigned>(std::strtoul(configured, nullptr, 10));
}

class every_kind {
 public:
  explicit every_kind(bool by_hand)
      : scene_{by_hand},
        expected_state_{scene_.kinds()},
        g_{scene_.build(now_)},
        exec_{g_.instantiate()} {}

  void launch() {
    scene_.launch(exec_, now_.events);
    expected_.push_back(expected_state_.launch(now_, on_, scene_.last_awaited()));
  }

  // Returns true if the results since the last call match the launches' parameters.
  [[nodiscard]] bool is_right() {
    const std::vector<outcome> found = scene_.outcomes();
    EXPECT_EQ(found.size(), expected_.size());
    for (std::size_t i = 0; i < found.size() && i < expected_.size(); ++i) {
      for (std::size_t k = 0; k < result_offset::count; ++k)
        EXPECT_EQ(found[i][k], expected_[i][k]) << "result " << k << " of launch " << checked_ + i;
    }
    checked_ += found.size();
    expected_.clear();
    return !testing::Test::HasFailure();
  }

  // Changes one node of the executable, or enables or disables it.
  void change() {
    switch (below(scene_.kinds().kernels ? 11u : 9u)) {
      case 0: return fill_with(node<fill_node>("fill"), now_.fill = next());
      case 1: return fill_with(node<fill_node>("rows"), now_.rows = next());
      case 2:
        return exec_.set(node<host_function_node>("host"),
                         scene_.host_function(now_.host = next()));
      case 3:
        return exec_.set(node<value_batch_node>("batch"),
                         value_batch_parameters{scene_.batch(now_.batch = next())});
      case 4: return change_volume();
      case 5:
        now_.events = 1 - now_.events;
        exec_.set(node<event_wait_node>("wait"), event_wait_parameters{scene_.ready(now_.events)});
        return exec_.set(node<event_record_node>("record"),
                         event_record_parameters{scene_.done(now_.events)});
      case 6: return toggle(exec_.find(below(2) == 0 ? "fill" : "copy"));
      case 7: return scene_.kinds().by_hand ? change_child() : toggle(exec_.find("rows"));
      case 8: return scene_.kinds().by_hand ? change_body() : toggle(exec_.find("copy"));
      case 9: return exec_.set(node<kernel_node>("kernel"), scene_.store(now_.kernel = next()));
      default: return toggle(exec_.find("kernel"));
    }
  }

  // Updates the executable from another graph with equal topology: its own, changed, or a new
  // capture.
  void update() {
    now_ = {.fill = next(),
            .rows = next(),
            .allocated = next(),
            .host = next(),
            .batch = next(),
            .child = next(),
            .kernel = next(),
            .volume = below(2),
            .events = below(2)};
    for (value& one : now_.bodies) one = next();
    if (scene_.kinds().by_hand) {
      scene_.set(g_, now_);
      expect_updated(g_);
    } else {
      expect_updated(scene_.build(now_));
    }
  }

  [[nodiscard]] unsigned below(unsigned n) { return static_cast<unsigned>(random_() % n); }

 private:
  void expect_updated(const graph& to) {
    const graph_update done = exec_.update(to);
    EXPECT_TRUE(done) << "reason " << static_cast<int>(done.reason) << " at "
                      << to_string(done.node) << ", a "
                      << (done.node ? to_string(done.node.kind()) : "none");
  }
  // Returns a new value each time.
  [[nodiscard]] value next() { return values_ += 1 + below(3); }
  template <class Node>
  [[nodiscard]] Node node(const char* tag) const {
    return exec_.find(tag).as<Node>();
  }
  void fill_with(fill_node n, value setting) {
    const fill_parameters is = n.parameters();
    exec_.set(n, fill_parameters{is.address(), setting, is.element_bytes(), is.width(), is.height(),
                                 is.pitch()});
  }
  void change_volume() {
    const copy_node n = node<copy_node>("volume");
    const copy_parameters is = n.parameters();
    copy_side from = is.source();
    from.address = const_cast<value*>(scene_.volume(now_.volume = 1 - now_.volume).data());
    exec_.set(n, copy_parameters{from, is.target(), is.width_bytes(), is.height(), is.depth()});
  }
  void change_child() {
    const graph other = scene_.child(now_.child = next());
    exec_.set(node<child_graph_node>("child"), child_graph_parameters{other});
  }
  void change_body() {
    const std::size_t i = below(result_offset::cell_count);
    if (below(2) == 0) return fill_with(scene_.body(i), now_.bodies[i] = next());
    on_.bodies[i] = !on_.bodies[i];
    on_.bodies[i] ? exec_.enable(scene_.body(i)) : exec_.disable(scene_.body(i));
  }
  void toggle(graph_node n) {
    bool& is = n == exec_.find("fill")     ? on_.fill
               : n == exec_.find("rows")   ? on_.rows
               : n == exec_.find("kernel") ? on_.kernel
                                           : on_.copy;
    is = !is;
    is ? exec_.enable(n) : exec_.disable(n);
    EXPECT_EQ(exec_.enabled(n), is);
  }

  graph_scenario scene_;
  expected_results expected_state_;
  settings now_;
  enabled_nodes on_;
  graph g_;
  graph_exec exec_;
  std::vector<outcome> expected_;
  std::size_t checked_ = 0;
  std::mt19937_64 random_{1};
  value values_ = 100;
};

// Several launches are in flight at a time: a change affects later ones only.
void soak(bool by_hand) {
  if (!conditional_support_of_driver().else_and_switch)
    GTEST_SKIP() << "a driver of before CUDA 12.8";
  every_kind graphs{by_hand};
  const unsigned all = launches();
  for (unsigned done = 0; done < all;) {
    for (unsigned flight = 1 + graphs.below(8); flight > 0 && done < all; --flight, ++done) {
      if (graphs.below(64) == 0) graphs.update();
      for (unsigned left = graphs.below(4); left > 0; --left) graphs.change();
      graphs.launch();
    }
    ASSERT_TRUE(graphs.is_right());
  }
}

TEST(GraphSoak, GraphsBuiltByHandRunEveryKindOfNode) { soak(true); }
TEST(GraphSoak, CapturedGraphsRunEveryKindOfNode) { soak(false); }

}  // namespace
}  // namespace weir::test
