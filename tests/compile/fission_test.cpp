// SPDX-License-Identifier: Apache-2.0
// tests/compile/fission_test.cpp - kernels with barriers that are compiled to loops give equal
// results as with a stack for each thread.
#include "both_barrier_modes.hpp"

namespace weir::test {

class Fission : public BothBarrierModes {};

TEST_P(Fission, LoopsComputeTheSameResults) {
  device_image image{made(R"(#define T 8
extern __shared__ float at_file_scope[];
struct pair { float a, b; };
__device__ float helper(float x) { return x * 2; }

extern "C" __global__ void product(const float* A, float* C, int n) {
  __shared__ float a[T][T], b[T][T];
  int tx = threadIdx.x, ty = threadIdx.y;
  const int col = blockIdx.x * T + tx, row = blockIdx.y * T + ty;
  float sum = 0;
  #pragma unroll 2
  for (int t = 0; t < 32 / T; ++t) {
    a[ty][tx] = A[row * 32 + t * T + tx];
    b[ty][tx] = A[(t * T + ty) * 32 + col];
    __syncthreads();
    #pragma unroll
    for (int k = 0; k < T; ++k) sum += a[ty][k] * b[k][tx];
    __syncthreads();
  }
  C[row * 32 + col] = sum;
}
extern "C" __global__ void reduce(const float* x, float* out, int n) {
  extern __shared__ float s[];
  unsigned int t = threadIdx.x, i = blockIdx.x * blockDim.x + threadIdx.x;
  s[t] = i < n ? x[i] : 0;
  __syncthreads();
  for (unsigned int d = blockDim.x / 2; d > 0; d >>= 1) {
    if (t < d) s[t] += s[t + d];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = s[0];
}
extern "C" __global__ void scan(const float* x, float* out, int n) {
  int t = threadIdx.x;
  float* from = at_file_scope;
  float* to = at_file_scope + 64;
  from[t] = x[t];
  __syncthreads();
  for (int d = 1; d < 64; d = d * 2) {
    to[t] = t >= d ? from[t] + from[t - d] : from[t];
    float* other = from;
    from = to;
    to = other;
    __syncthreads();
  }
  out[t] = from[t];
}
extern "C" __global__ void leaves(const float* x, float* out, int n) {
  __shared__ float s[64];
  const int t = threadIdx.x;
  s[t] = x[t];
  if (t >= 50) return;
  float mine = x[t] * 3, both[2] = {1, 2}, *where = &s[t];
  pair p{mine, 1};
  __syncthreads();
  mine += s[49 - t] + both[1];
  both[0] += t;
  if (t % 7 == 3) { out[t] = -5; return; }
  __syncthreads();
  *where = mine;
  if (n > 100) {
    __syncthreads();
    mine += s[(t * 3) % 50] * 0 + p.a + both[0];
  } else {
    mine = 0;
  }
  for (int k = 0; k < 10; ++k) { if (k == t) break; mine += k; }
  out[t] = mine + helper(p.b);
}
extern "C" __global__ void sorts(const float* x, float* out, int n) {
  __shared__ float s[128];
  int t = threadIdx.x;
  s[t] = x[t]; s[t + 64] = x[t + 64];
  for (int size = 2; size <= 128; size *= 2) {
    for (int stride = size / 2; stride > 0; stride /= 2) {
      __syncthreads();
      int i = 2 * t - (t & (stride - 1));
      bool up = (i & size) == 0;
      float a = s[i], b = s[i + stride];
      if ((a > b) == up) { s[i] = b; s[i + stride] = a; }
    }
  }
  __syncthreads();
  out[t] = s[t]; out[t + 64] = s[t + 64];
}
template <class V, int N> __global__ void reversed(const V* x, V* out, int n) {
  __shared__ V s[N];
  auto t = threadIdx.x;
  s[t] = x[t + blockIdx.x * N];
  __syncthreads();
  out[t + blockIdx.x * N] = s[N - 1 - t];
}
extern "C" __global__ void leaves_uniformly(const float* x, float* out, int n) {
  __shared__ float s[64];
  if (n < 10) return;
  float mine = 0;
  for (int i = 0; i < 10; ++i) {
    if (i * 100 >= n) break;
    if (i == 2) continue;
    s[threadIdx.x] = x[threadIdx.x + i];
    __syncthreads();
    mine += s[63 - threadIdx.x];
    __syncthreads();
  }
  out[threadIdx.x] = mine;
}
extern "C" __global__ void shares_within(const float* x, float* out, int n) {
  float mine = threadIdx.x;
  __syncthreads();
  if (n > 3) {
    __shared__ float s[64];
    s[threadIdx.x] = x[threadIdx.x];
    mine += s[threadIdx.x];
  }
  __syncthreads();
  out[threadIdx.x] = mine;
}
extern "C" __global__ void keeps_from_turn_to_turn(const float* x, float* out, int n) {
  for (int i = 0; i < 3; ++i) {
    if (n > 0) {
      __shared__ float s[64];
      if (i == 0) s[threadIdx.x] = x[threadIdx.x];
      __syncthreads();
      s[threadIdx.x] += 1;
      if (i == 2) out[threadIdx.x] = s[threadIdx.x];
    }
    if (n > 1) {
      __shared__ float other[64];
      other[threadIdx.x] = -1;
      __syncthreads();
      out[64 + threadIdx.x] = other[63 - threadIdx.x];
    }
  }
}
extern "C" __global__ void histogram(const float* x, float* out, int n) {
  __shared__ unsigned bins[16];
  if (threadIdx.x < 16) bins[threadIdx.x] = 0;
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) atomicAdd(&bins[(int)x[i] % 16], 1u);
  __syncthreads();
  if (threadIdx.x < 16) out[threadIdx.x] = bins[threadIdx.x];
})",
                          {"reversed<float, 64>"})};
  expect_same_results(image, "product", {{4, 4, 1}, {8, 8, 1}});
  expect_same_results(image, "reduce", {{4, 1, 1}, {128, 1, 1}, 512});
  expect_same_results(image, "scan", {{1, 1, 1}, {64, 1, 1}, 512});
  expect_same_results(image, "leaves", {{1, 1, 1}, {64, 1, 1}});
  expect_same_results(image, "leaves", {{1, 1, 1}, {64, 1, 1}}, 50);
  expect_same_results(image, "sorts", {{1, 1, 1}, {64, 1, 1}});
  expect_same_results(image, "_Z8reversedIfLi64EEvPKT_PS0_i", {{3, 1, 1}, {64, 1, 1}});
  expect_same_results(image, "leaves_uniformly", {{1, 1, 1}, {64, 1, 1}});
  expect_same_results(image, "leaves_uniformly", {{1, 1, 1}, {64, 1, 1}}, 250);
  expect_same_results(image, "shares_within", {{1, 1, 1}, {64, 1, 1}});
  expect_same_results(image, "keeps_from_turn_to_turn", {{1, 1, 1}, {64, 1, 1}});
  expect_same_results(image, "histogram", {{1, 1, 1}, {32, 2, 1}}, 500);
}

// A kernel that is not certainly safe to transform keeps a stack for each thread.
TEST_P(Fission, UnsupportedKernelsAreNotTransformed) {
  device_image image{made(R"(__device__ void inside() { __syncthreads(); }
extern "C" __global__ void in_a_function() { inside(); }
extern "C" __global__ void divergent(int* x) { if (threadIdx.x < 32) { __syncthreads(); } x[0] = 1; }
extern "C" __global__ void by_memory(int* x) { for (int i = 0; i < x[0]; ++i) __syncthreads(); }
extern "C" __global__ void breaks(int* x) { for (int i = 0; i < 4; ++i) { if (x[threadIdx.x]) break; __syncthreads(); } }
extern "C" __global__ void while_loop(int* x) { int i = 4; while (i-- > 0) __syncthreads(); }
extern "C" __global__ void shuffles(int* x) { __syncthreads(); x[threadIdx.x] = __shfl_sync(~0u, x[threadIdx.x], 0); }
extern "C" __global__ void counts(int* x) { x[threadIdx.x] = __syncthreads_count(1); }
extern "C" __global__ void lambda(int* x) { auto f = [&] { return 1; }; __syncthreads(); x[0] = f(); }
extern "C" __global__ void continues(int* x, int n) {
  for (int i = 0; i < 4; ++i) { switch (n) { case 1: continue; } __syncthreads(); x[i] = 1; }
}
namespace inner { __device__ void same_name() { __syncthreads(); } }
extern "C" __global__ void same_name(int* x) { __syncthreads(); inner::same_name(); }
extern "C" __global__ void one_for_all(int* x) { static int count; ++count; __syncthreads(); x[0] = count; }
extern "C" __global__ void jumps(int* x) { if (x) goto end; __syncthreads(); end: x[0] = 1; }
extern "C" __global__ void reference(int* x) { int& r = x[threadIdx.x]; __syncthreads(); r = 1; }
extern "C" __global__ void by_thread(int* x) { int n = threadIdx.x; for (int i = 0; i < n; ++i) __syncthreads(); }
extern "C" __global__ void changed(int* x) { int n = 4; n += x[0]; for (int i = 0; i < n; ++i) __syncthreads(); }
)")};
  for (unsigned i = 0; i < image.table().kernel_count; ++i)
    EXPECT_EQ(image.table().kernels[i].flags, unsigned{weir_kernel_waits})
        << image.table().kernels[i].name;
}

// If the loops do not compile, here because of their stack size, the original source is compiled.
TEST_P(Fission, TheCompilerFallsBackToTheOriginalSource) {
  const compile::product product = made(R"(extern "C" __global__ void large(int* x) {
  int own[1000];
  own[threadIdx.x] = 7;
  __syncthreads();
  x[threadIdx.x] = own[threadIdx.x];
})");
  EXPECT_EQ(product.log, "");
  device_image image{product};
  EXPECT_EQ(image.kernel("large").flags, unsigned{weir_kernel_waits});
  int x[4];
  image.launch("large", {{1, 1, 1}, {4, 1, 1}}, +x);
  EXPECT_EQ(x[3], 7);
}

WEIR_WITH_EVERY_COMPILER(Fission);

}  // namespace weir::test
