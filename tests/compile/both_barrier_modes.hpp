// SPDX-License-Identifier: Apache-2.0
// tests/compile/both_barrier_modes.hpp - runs a kernel with barriers as loops, and with a stack for
// each thread.
#pragma once

#include "compiled.hpp"

namespace weir::test {

class BothBarrierModes : public Compiled {
 protected:
  void TearDown() override {
    device_image::whole = true;
    Compiled::TearDown();
  }

  // Runs a kernel both ways on two arrays and compares their contents.
  static void expect_same_results(device_image& image, const std::string& name,
                                  device_image::shape how, int n = 512) {
    ASSERT_EQ(image.kernel(name).flags, unsigned{weir_kernel_waits} | weir_kernel_whole) << name;
    std::vector<float> x(4096), with_contexts(4096, -1.0f), whole(4096, -1.0f);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 37 % 101);
    device_image::whole = false;
    image.launch(name, how, x.data(), with_contexts.data(), n);
    device_image::whole = true;
    image.launch(name, how, x.data(), whole.data(), n);
    EXPECT_EQ(with_contexts, whole) << name;
    EXPECT_NE(whole, std::vector<float>(4096, -1.0f)) << name;
  }
};

}  // namespace weir::test
