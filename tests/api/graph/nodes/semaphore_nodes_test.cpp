// SPDX-License-Identifier: Apache-2.0
// semaphore_nodes_test.cpp - nodes that signal external semaphores and wait for them: GPUs only.
#include <weir/capture/capture.hpp>
#include <weir/graph/graph_exec.hpp>
#include <weir/graph/nodes/semaphore_nodes.hpp>
#include <weir/sync/external_semaphore.hpp>
#include <weir/sync/shared_semaphore.hpp>

#include <gtest/gtest.h>

#include "support/errors.hpp"

namespace weir {
namespace {

using test::failure_of;
using test::result_of;

class SemaphoreNodes : public ::testing::Test {
 protected:
  device gpu;
  stream s{gpu};
  graph g;
};

// A GPU's semaphores come from other interfaces, such as Vulkan. This test checks what needs none.
TEST_F(SemaphoreNodes, NodesWithoutASemaphoreAreRefused) {
  const semaphore_value none{nullptr, 1};
  EXPECT_EQ(result_of([&] { static_cast<void>(g.add(semaphore_signal_parameters{none})); }),
            errc::invalid_handle);
  EXPECT_EQ(result_of([&] { static_cast<void>(g.add(semaphore_wait_parameters{none})); }),
            errc::invalid_handle);
  EXPECT_EQ(g.node_count(), 0u);
}

TEST_F(SemaphoreNodes, EmbeddedDevicesHaveNoSemaphoreNodes) {
  if (!gpu.is_embedded()) GTEST_SKIP() << "a shared semaphore is for embedded devices";
  const shared_semaphore shared{semaphore_kind::timeline};
  const external_semaphore semaphore{gpu, shared};
  const auto refused = failure_of([&] {
    static_cast<void>(g.add(semaphore_signal_parameters{{semaphore, 7}}));
  });
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->result(), errc::not_supported);
  EXPECT_NE(refused->hint().find("GPUs only"), std::string::npos) << refused->what();
  EXPECT_EQ(result_of([&] {
              static_cast<void>(
                  g.add(semaphore_wait_parameters{std::vector<semaphore_value>{semaphore}}));
            }),
            errc::not_supported);
  EXPECT_EQ(g.node_count(), 0u);
  const semaphore_signal_parameters told{{semaphore, 7}};
  EXPECT_EQ(told.semaphores(), (std::vector<semaphore_value>{{semaphore.get(), 7}}));
}

}  // namespace
}  // namespace weir
