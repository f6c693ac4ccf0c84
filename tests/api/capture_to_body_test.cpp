// capture_to_body_test.cpp - bodies of conditional nodes that are filled by captures.
#include <weir/capture_to.hpp>
#include <weir/conditional_node.hpp>
#include <weir/graph_drawing.hpp>
#include <weir/graph_exec.hpp>
#include <weir/host_function.hpp>

#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "capture_fixture.hpp"
#include "driver/table.hpp"
#include "support/errors.hpp"

namespace weir {
namespace {

using test::failure_of;

class CaptureToBody : public test::capture_fixture {
 protected:
  void SetUp() override {
    if (!conditional_support_of_driver().if_and_while) GTEST_SKIP() << "the driver has no conditional nodes";
  }
};

TEST_F(CaptureToBody, ABodyIsFilledByACapture) {
  graph g;
  const auto node = g.add(if_parameters{condition{g, 1u}});
  fill(s, x, 1);
  capture_to(s, node.body(), [&] { fill(s, x, 2); });
  EXPECT_EQ(node.body().node_count(), 1u);
  g.instantiate().launch(s);
  EXPECT_EQ(first(), 2);
}

// Rule 128: with the operation at fault, and the body as it was.
TEST_F(CaptureToBody, WhatCannotBeInABodyIsNamed) {
  graph g;
  const auto node = g.add(if_parameters{condition{g, 1u}});
  const auto refused = failure_of([&] {
    capture_to(s, node.body(), [&] {
      fill(s, x, 2);
      launch_host(s, [] {});
    });
  });
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->result(), errc::not_supported);
  EXPECT_TRUE(says(*refused, "host function node")) << refused->what();
  EXPECT_EQ(node.body().node_count(), 0u);
  expect_ordinary();
  capture_to(s, node.body(), [&] { fill(s, x, 3); });
  g.instantiate().launch(s);
  EXPECT_EQ(first(), 3);
}

TEST_F(CaptureToBody, WhatABodyThrowsLeavesItAsItWas) {
  graph g;
  const auto node = g.add(while_parameters{condition{g, 0u}});
  EXPECT_THROW(capture_to(s, node.body(),
                          [&] {
                            fill(s, x, 2);
                            throw std::runtime_error{"the body's"};
                          }),
               std::runtime_error);
  EXPECT_EQ(node.body().node_count(), 0u);
  g.instantiate().launch(s);
  s.sync();
}

// The driver destroys the body of a capture that broke. Nothing asks about it afterwards.
TEST_F(CaptureToBody, ABrokenCaptureTakesTheBodyWithIt) {
  graph g;
  const auto node = g.add(if_parameters{condition{g, 1u}});
  const auto failure = failure_of([&] {
    capture_to(s, node.body(), [&] { EXPECT_NE(detail::driver().cuStreamQuery(s.get()), abi::CUDA_SUCCESS); });
  });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->result(), errc::stream_capture_invalidated);
  const auto refused = failure_of([&] { static_cast<void>(node.body()); });
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->result(), errc::illegal_state);
  EXPECT_TRUE(says(*refused, "capture into it broke")) << refused->what();
  EXPECT_EQ(node.bodies(), std::vector{graph_ref{nullptr}});
  EXPECT_EQ(node.type(), conditional_kind::if_nonzero);
  EXPECT_NE(drawing_of(g).find("if"), std::string::npos);
  expect_ordinary();
}

}  // namespace
}  // namespace weir
