// SPDX-License-Identifier: Apache-2.0
// condition_value_test.cpp - how a body's work sets a condition; set by hand here instead of by a
// kernel.
#include "conditional_fixture.hpp"

#include <memory>
#include <mutex>
#include <vector>

#include "embedded/model/graph/conditional.hpp"
#include "embedded/model/graph/launch_plan.hpp"

namespace weir::embedded {
namespace {

// A compiled graph with one conditional node. Its first body has one operation, which sets the
// condition.
class ConditionValue : public memory_test {
 protected:
  void make(CUgraphConditionalNodeType type, unsigned bodies, unsigned value, unsigned flags) {
    const CUgraphConditionalHandle condition = make_condition(graph_, value, flags);
    const conditional node{graph_, condition, type, bodies};
    words_ = std::make_unique<test_words>(bodies);
    for (unsigned i = 0; i < bodies; ++i) node.bodies[i].add_set(words_->at(i), 1);
    model::process& p = model::this_process();
    const std::lock_guard lock{p.graphs_mutex};
    const model::graph& from = *p.graphs.find(graph_);
    std::vector<model::plan_location> places;
    plan_ = model::compile(from, from.topological_order(), places);
    condition_ = condition;
    EXPECT_FALSE(kernel::set_condition(condition + 1, 1));
    plan_->operations[plan_->conditionals[0].bodies[0].first_operation] =
        engine::make_operation(change{this});
  }
  void TearDown() override {
    drop_plan();
    words_.reset();
    EXPECT_EQ(driver.cuGraphDestroy(graph_), CUDA_SUCCESS);
    memory_test::TearDown();
  }
  void SetUp() override {
    memory_test::SetUp();
    ASSERT_EQ(driver.cuGraphCreate(&graph_, 0), CUDA_SUCCESS);
  }

  // Runs the plan like a launch.
  static void run(model::launch_plan& plan) {
    model::assign_conditions{&plan}.run();
    for (const model::plan_step& step : plan.steps) {
      for (std::uint32_t i = 0; i < step.operations; ++i) {
        engine::operation& next = plan.operations[step.first_operation + i];
        next.body(next);
      }
    }
  }

  [[nodiscard]] model::launch_plan& plan() { return *plan_.get(); }
  void drop_plan() { plan_ = {}; }
  void change_to_copy() { plan_ = model::plan_reference{new model::launch_plan{plan()}}; }
  // Sets the condition like a kernel.
  void set(std::uint32_t to) const { EXPECT_TRUE(kernel::set_condition(condition_, to)); }
  [[nodiscard]] static std::uint32_t value_in(const model::launch_plan& plan) {
    return plan.conditionals.at(0).value->get();
  }

  int rounds_ = 0;
  std::unique_ptr<test_words> words_;

 private:
  struct change {
    ConditionValue* test;
    void run() const noexcept {
      ++test->rounds_;
      test->set(value_in(test->plan()) - 1);
    }
  };

  CUgraph graph_ = nullptr;
  model::plan_reference plan_;
  CUgraphConditionalHandle condition_ = 0;
};

// A loop reads its condition before each iteration, and starts again at each launch.
TEST_F(ConditionValue, ALoopRunsUntilItsConditionIsZero) {
  make(CU_GRAPH_COND_TYPE_WHILE, 1, 5, CU_GRAPH_COND_ASSIGN_DEFAULT);
  run(plan());
  EXPECT_EQ(rounds_, 5);
  run(plan());
  EXPECT_EQ(rounds_, 10);
}

// Without CU_GRAPH_COND_ASSIGN_DEFAULT the condition keeps its last value, initially 0, also when
// the plan is copied for an update.
TEST_F(ConditionValue, AConditionThatIsNotAssignedKeepsItsValue) {
  make(CU_GRAPH_COND_TYPE_WHILE, 1, 5, 0);
  run(plan());
  EXPECT_EQ(rounds_, 0);
  set(3);
  run(plan());
  EXPECT_EQ(rounds_, 3);
  set(2);
  change_to_copy();
  run(plan());
  EXPECT_EQ(rounds_, 5);
  EXPECT_EQ(value_in(plan()), 0u);
}

// The first body sets the condition to zero; the second body does not run for that reason.
TEST_F(ConditionValue, AnIfReadsItsConditionOnce) {
  make(CU_GRAPH_COND_TYPE_IF, 2, 1, CU_GRAPH_COND_ASSIGN_DEFAULT);
  run(plan());
  EXPECT_EQ(rounds_, 1);
  EXPECT_EQ(value_in(plan()), 0u);
  EXPECT_EQ((*words_)[1], 0u);
}

}  // namespace
}  // namespace weir::embedded
