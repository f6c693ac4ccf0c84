// tests/compile/kernel_test.cpp - kernels, their names and parameters, and what they compute.
#include <numeric>

#include "compiled.hpp"

namespace weir::test {

class Kernel : public Compiled {};

TEST_P(Kernel, OfCLinkageRuns) {
  device_image image{made(R"(extern "C" __global__ void saxpy(int n, float a, const float* x, float* y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
})")};
  std::vector<float> x(1000), y(1000, 1.0f);
  std::iota(x.begin(), x.end(), 0.0f);
  image.launch("saxpy", {{4, 1, 1}, {256, 1, 1}}, 1000, 2.0f, x.data(), y.data());
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(y[static_cast<size_t>(i)], 2.0f * static_cast<float>(i) + 1.0f);
  const weir_kernel& k = image.kernel("saxpy");
  EXPECT_EQ(k.flags, 0u);
  ASSERT_EQ(k.parameter_count, 4u);
  EXPECT_EQ(k.parameters[2].offset, 8u);
  EXPECT_EQ(k.parameters[3].size, 8u);
  EXPECT_EQ(k.max_threads, 1024u);
}

WEIR_WITH_EVERY_COMPILER(Kernel);

}  // namespace weir::test
