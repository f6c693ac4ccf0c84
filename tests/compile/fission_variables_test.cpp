// SPDX-License-Identifier: Apache-2.0
// tests/compile/fission_variables_test.cpp - variables that are live across barriers in kernels
// compiled to loops.
#include "both_barrier_modes.hpp"

namespace weir::test {

class FissionVariables : public BothBarrierModes {};

// Each thread has its own variable, however it is modified.
TEST_P(FissionVariables, VariablesAreModifiedInManyWays) {
  device_image image{made(R"(#define BUMP(v, d) ((v) += (d))
struct reader { const float* at; __device__ float next() { return *at++; } };
struct writer { float* at; __device__ float& operator[](int i) { return at[i]; } __device__ void skip(int n) { at += n; } };
struct where { int x; __device__ where() : x(threadIdx.x) {} };
extern "C" __global__ void by_macro(const float* x, float* out, int n) {
  int sum = threadIdx.x;
  BUMP(sum, 10);
  __syncthreads();
  out[threadIdx.x] = sum;
}
extern "C" __global__ void by_reference(const float* x, float* out, int n) {
  int sum = threadIdx.x;
  auto&& r = sum;
  r += 5;
  int& q{sum};
  q += 7;
  __syncthreads();
  out[threadIdx.x] = sum;
}
extern "C" __global__ void parameter_moves(const float* x, float* out, int n) {
  x += threadIdx.x;
  n -= threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = *x + n;
}
extern "C" __global__ void parameter_has_state(reader r, writer w, int n) {
  w.skip(threadIdx.x);
  float sum = r.next();
  __syncthreads();
  sum += r.next() * 100;
  w[0] = sum;
}
extern "C" __global__ void constructed(const float* x, float* out, int n) {
  where here;
  __syncthreads();
  out[threadIdx.x] = here.x;
}
extern "C" __global__ void made(const float* x, float* out, int n) {
  int* own = new int;
  *own = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = *own;
  delete own;
})")};
  for (const char* const name : {"by_macro", "by_reference", "parameter_moves",
                                 "parameter_has_state", "constructed", "made"})
    expect_same_results(image, name, {{1, 1, 1}, {64, 1, 1}});
}

// A function may return another value behind the barrier.
TEST_P(FissionVariables, InitializersCallFunctionsOnce) {
  device_image image{
      made(R"(struct view { float* at; __device__ float get(int i) const { return at[i]; } };
extern "C" __global__ void reads(const float* x, view v, int n) {
  int t = threadIdx.x;
  v.at[t] = t;
  __syncthreads();
  float mine = v.get((t + 1) % 64);
  __syncthreads();
  v.at[t] = 7;
  __syncthreads();
  v.at[t + 64] = mine;
})")};
  expect_same_results(image, "reads", {{1, 1, 1}, {64, 1, 1}});
}

// Names are resolved in their scope.
TEST_P(FissionVariables, ShadowedVariablesAreDistinguished) {
  device_image image{made(R"(struct pair { float e[2]; };
extern "C" __global__ void in_a_block(const float* x, float* out, int n) {
  __shared__ float s[64];
  int v = blockIdx.x + 1000;
  s[threadIdx.x] = v;
  __syncthreads();
  {
    float v = x[threadIdx.x];
    int twice = v * 2;
    s[threadIdx.x] += twice;
    __syncthreads();
    out[threadIdx.x] = s[63 - threadIdx.x] + twice;
  }
}
extern "C" __global__ void of_a_loop(const float* x, float* out, int n) {
  __shared__ float s[64];
  int i = threadIdx.x + 5;
  int twice = i * 2;
  for (int i = 0; i < 3; ++i) {
    s[threadIdx.x] = twice + i * 100;
    __syncthreads();
    out[threadIdx.x] += s[63 - threadIdx.x];
    __syncthreads();
  }
}
extern "C" __global__ void of_an_enum(const float* x, float* out, int n) {
  int A = blockIdx.x + 50;
  out[threadIdx.x] = A;
  {
    enum { A = 4, B = 7 };
    out[threadIdx.x] += A;
    __syncthreads();
    out[threadIdx.x] += A;
  }
}
extern "C" __global__ void of_a_binding(const float* x, float* out, int n) {
  int a = 3;
  out[threadIdx.x] = a;
  {
    auto [a, b] = pair{{x[threadIdx.x], 2}}.e;
    __syncthreads();
    out[threadIdx.x] += a * b;
  }
})")};
  const device_image::shape how{{1, 1, 1}, {64, 1, 1}};
  expect_same_results(image, "in_a_block", how);
  std::vector<float> x(64), out(64);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
  image.launch("of_a_loop", how, x.data(), out.data(), 0);
  EXPECT_EQ(out[10], 3 * 2 * (53 + 5) + 300);
  image.launch("of_an_enum", how, x.data(), out.data(), 0);
  EXPECT_EQ(out[10], 50 + 4 + 4);
  image.launch("of_a_binding", how, x.data(), out.data(), 0);
  EXPECT_EQ(out[10], 3 + 10 * 2);
}

// A division that an earlier return protects from a zero divisor is not moved before the return.
TEST_P(FissionVariables, VariablesAreNotComputedForEndedThreads) {
  device_image image{
      made(R"(extern "C" __global__ void ends_here(const float* x, float* out, int n) {
  __shared__ float s[64];
  int m = n - 512;
  out[threadIdx.x] = 1;
  if (m == 0) return;
  const int q = 1000 / m;
  s[threadIdx.x] = q;
  __syncthreads();
  out[threadIdx.x] = s[63 - threadIdx.x] + q;
}
extern "C" __global__ void ended_before(const float* x, float* out, int n) {
  __shared__ float s[64];
  s[threadIdx.x] = x[threadIdx.x];
  if (n == 512) { out[threadIdx.x] = 3; return; }
  __syncthreads();
  const int q = 1000 / (n - 512);
  out[threadIdx.x] = s[63 - threadIdx.x] + q;
}
extern "C" __global__ void some_ended(const float* x, float* out, int n) {
  __shared__ float s[64];
  const int t = threadIdx.x, row = t / blockDim.x, per = n / 512;
  s[t] = x[t];
  if (t == 5) return;
  const int q = 1000 / (t - 5);
  s[t] += q;
  __syncthreads();
  for (int i = 0; i < per; ++i) {
    s[t] += q + row;
    __syncthreads();
  }
  out[t] = s[63 - t] + q;
})")};
  for (const char* const name : {"ends_here", "ended_before", "some_ended"}) {
    expect_same_results(image, name, {{1, 1, 1}, {64, 1, 1}});
    expect_same_results(image, name, {{1, 1, 1}, {64, 1, 1}}, 600);
  }
}

// A kernel that cannot be transformed does not keep others from becoming loops.
TEST_P(FissionVariables, EachKernelIsTransformedIndependently) {
  device_image image{made(R"(struct window { float w[2]; };
extern "C" __global__ void writes_to_a_part(window p, float* out, int n) {
  p.w[0] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = p.w[0];
}
extern "C" __global__ void plain(const float* x, float* out, int n) {
  __shared__ float s[64];
  s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = s[63 - threadIdx.x];
})")};
  EXPECT_EQ(image.kernel("writes_to_a_part").flags, unsigned{weir_kernel_waits});
  const struct { float w[2]; } p{};
  std::vector<float> out(64);
  image.launch("writes_to_a_part", {{1, 1, 1}, {64, 1, 1}}, p, out.data(), 0);
  EXPECT_EQ(out[63], 63);
  expect_same_results(image, "plain", {{1, 1, 1}, {64, 1, 1}});
}

WEIR_WITH_EVERY_COMPILER(FissionVariables);

}  // namespace weir::test
