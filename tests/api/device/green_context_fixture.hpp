// SPDX-License-Identifier: Apache-2.0
// green_context_fixture.hpp - a device whose multiprocessors can be divided.
#pragma once

#include <weir/device/green_context.hpp>

#include <gtest/gtest.h>

namespace weir::test {

class green_context_fixture : public ::testing::Test {
 protected:
  [[nodiscard]] sm_resource some(unsigned least = 16) const {
    return sm_resource::query(gpu).split(1, least).groups.at(0);
  }

  device gpu;
};

}  // namespace weir::test
