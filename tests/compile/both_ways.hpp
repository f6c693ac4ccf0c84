// tests/compile/both_ways.hpp - a kernel with barriers, run as loops and with a stack a thread.
#pragma once

#include "compiled.hpp"

namespace weir::test {

class BothWays : public Compiled {
 protected:
  void TearDown() override {
    device_image::whole = true;
    Compiled::TearDown();
  }

  // Runs a kernel both ways on two arrays and compares what is in them.
  static void same(device_image& image, const std::string& name, device_image::shape how, int n = 512) {
    ASSERT_EQ(image.kernel(name).flags, unsigned{weir_kernel_waits} | weir_kernel_whole) << name;
    std::vector<float> x(4096), in_turns(4096, -1.0f), whole(4096, -1.0f);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 37 % 101);
    device_image::whole = false;
    image.launch(name, how, x.data(), in_turns.data(), n);
    device_image::whole = true;
    image.launch(name, how, x.data(), whole.data(), n);
    EXPECT_EQ(in_turns, whole) << name;
    EXPECT_NE(whole, std::vector<float>(4096, -1.0f)) << name;
  }
};

}  // namespace weir::test
