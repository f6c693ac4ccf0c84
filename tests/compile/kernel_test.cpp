// SPDX-License-Identifier: Apache-2.0
// tests/compile/kernel_test.cpp - kernels: names, parameters, and results.
#include <cstring>
#include <numeric>

#include "compiled.hpp"

namespace weir::test {

class Kernel : public Compiled {};

TEST_P(Kernel, AKernelOfCLinkageRuns) {
  device_image image{
      made(R"(extern "C" __global__ void saxpy(int n, float a, const float* x, float* y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
})")};
  std::vector<float> x(1000), y(1000, 1.0f);
  std::iota(x.begin(), x.end(), 0.0f);
  image.launch("saxpy", {{4, 1, 1}, {256, 1, 1}}, 1000, 2.0f, x.data(), y.data());
  for (int i = 0; i < 1000; ++i)
    ASSERT_EQ(y[static_cast<size_t>(i)], 2.0f * static_cast<float>(i) + 1.0f);
  const weir_kernel& k = image.kernel("saxpy");
  EXPECT_EQ(k.flags, 0u);
  ASSERT_EQ(k.parameter_count, 4u);
  EXPECT_EQ(k.parameters[2].offset, 8u);
  EXPECT_EQ(k.parameters[3].size, 8u);
  EXPECT_EQ(k.max_threads, 1024u);
}

TEST_P(Kernel, BuiltInVariablesIdentifyAThread) {
  device_image image{made(R"(extern "C" __global__ void where(unsigned* out) {
  unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  dim3 size = blockDim;
  uint3 at = threadIdx;
  out[block * (size.x * size.y * size.z) + thread] = block * 1000 + thread + at.x - threadIdx.x + warpSize - 32;
})")};
  std::vector<unsigned> out(2 * 3 * 2 * 4 * 2 * 3);
  const device_image::shape how{{2, 3, 2}, {4, 2, 3}};
  image.launch("where", how, out.data());
  for (unsigned i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], i / 24 * 1000 + i % 24);
  // Partial blocks, and block indices that do not fit the vectorized loop, work as well.
  std::fill(out.begin(), out.end(), 0);
  const weir_block block{{4000000, 1, 1}, {4, 2, 3}, {3999999, 0, 0}, {1, 1, 1}, nullptr, 0};
  unsigned* const shifted = out.data() - std::size_t{3999999} * 24;
  const void* arguments[] = {&shifted};
  image.kernel("where").run(&block, arguments, 5, 8);
  EXPECT_EQ(out[4], 0u);
  EXPECT_EQ(out[5], 3999999u * 1000 + 5);
  EXPECT_EQ(out[12], 3999999u * 1000 + 12);
  EXPECT_EQ(out[13], 0u);
}

TEST_P(Kernel, KernelNamesAreMangled) {
  device_image image{made(R"(namespace a { namespace b {
struct point { float x, y; };
__global__ void scale(point* p, float by = 2.0f) { p[threadIdx.x].x *= by; }
}}
namespace { __global__ void hidden(int* x) { *x = 1; } }
static __global__ void inner(int* x) { *x = 2; }
__global__ void twice(int* x) { *x = 3; }
__global__ void twice(float* x) { *x = 4; }
extern "C" { __global__ void linked(int* x) { *x = 5; } }
__global__ void later(int*);
__global__ void later(int* x) { *x = 6; }
)")};
  EXPECT_EQ(image.table().kernel_count, 7u);
  int x = 0;
  image.launch("_Z5twicePi", {}, &x);
  EXPECT_EQ(x, 3);
  float f = 0;
  image.launch("_Z5twicePf", {}, &f);
  EXPECT_EQ(f, 4);
  image.launch("_ZL5innerPi", {}, &x);
  EXPECT_EQ(x, 2);
  image.launch("linked", {}, &x);
  EXPECT_EQ(x, 5);
  image.launch("_Z5laterPi", {}, &x);
  EXPECT_EQ(x, 6);
  float point[2] = {3, 0};
  image.launch("_ZN1a1b5scaleEPNS0_5pointEf", {}, point, 2.0f);
  EXPECT_EQ(point[0], 6);
}

TEST_P(Kernel, TemplateInstancesAreRequestedByNameExpression) {
  const compile::product product =
      made(R"(namespace n {
template <typename T, int N> __global__ void __launch_bounds__(N) fill(T* x, T v) { for (int i = 0; i < N; ++i) x[i] = v; }
__constant__ float table[4] = {1, 2, 3, 4};
}
template <class T> __global__ void one(T* x) { *x = T(1); }
template <> __global__ void one<char>(char* x) { *x = 'c'; }
template __global__ void one<double>(double*);
__global__ void plain(int* x) { *x = 7; }
__device__ int counter;)",
           {"n::fill<float, 4>", "one<int>", "&n::table", "plain", "& ::counter", "one<double>"});
  ASSERT_EQ(product.lowered_names.size(), 6u);
  EXPECT_EQ(product.lowered_names[0].first, "n::fill<float, 4>");
  EXPECT_EQ(product.lowered_names[0].second, "_ZN1n4fillIfLi4EEEvPT_S1_");
  EXPECT_EQ(product.lowered_names[2].second, "_ZN1n5tableE");
  EXPECT_EQ(product.lowered_names[3].second, "_Z5plainPi");
  EXPECT_EQ(product.lowered_names[4].second, "counter");
  device_image image{product};
  EXPECT_EQ(image.table().kernel_count, 5u);
  float four[4] = {};
  image.launch(product.lowered_names[0].second, {}, four, 2.5f);
  EXPECT_EQ(four[3], 2.5f);
  int i = 0;
  image.launch(product.lowered_names[1].second, {}, &i);
  EXPECT_EQ(i, 1);
  double d = 0;
  image.launch(product.lowered_names[5].second, {}, &d);
  EXPECT_EQ(d, 1);
  char c = 0;
  image.launch("_Z3oneIcEvPT_", {}, &c);
  EXPECT_EQ(c, 'c');
}

TEST_P(Kernel, ParametersAreLaidOutAsOnAGpu) {
  device_image image{made(R"(struct big { double d; char c; };
struct alignas(16) wide { float f[4]; };
extern "C" __global__ void many(char a, short b, big c, float3 d, char e, wide f, const __grid_constant__ long long g, double* out) {
  *out = a + b + c.d + c.c + d.y + e + f.f[3] + g;
})")};
  const weir_kernel& k = image.kernel("many");
  ASSERT_EQ(k.parameter_count, 8u);
  const unsigned offsets[] = {0, 2, 8, 24, 36, 48, 64, 72}, sizes[] = {1, 2, 16, 12, 1, 16, 8, 8};
  for (unsigned i = 0; i < 8; ++i) {
    EXPECT_EQ(k.parameters[i].offset, offsets[i]) << i;
    EXPECT_EQ(k.parameters[i].size, sizes[i]) << i;
  }
  struct {
    double d;
    char c;
  } c{100, 3};
  struct {
    float x, y, z;
  } d{0, 0.5f, 0};
  struct alignas(16) {
    float f[4];
  } f{{0, 0, 0, 1000}};
  double out = 0;
  image.launch("many", {}, char{1}, short{2}, c, d, char{4}, f, 10000ll, &out);
  EXPECT_EQ(out, 1 + 2 + 100 + 3 + 0.5 + 4 + 1000 + 10000);
}

TEST_P(Kernel, AttributesAreInTheTable) {
  device_image image{made(R"(constexpr int threads = 128;
extern "C" __global__ void __launch_bounds__(threads * 2, 3) bounded() {}
extern "C" __global__ void __cluster_dims__(2, 2, 1) clustered() {}
extern "C" __launch_bounds__(64) __global__ void before(float* out) {
  __shared__ float a[64];
  __shared__ double b;
  a[threadIdx.x] = 1; b = 2; __syncthreads(); out[threadIdx.x] = a[63 - threadIdx.x] + b;
})")};
  EXPECT_EQ(image.kernel("bounded").max_threads, 256u);
  EXPECT_EQ(image.kernel("bounded").min_blocks, 3u);
  EXPECT_EQ(image.kernel("clustered").cluster.y, 2u);
  EXPECT_EQ(image.kernel("clustered").cluster.z, 1u);
  EXPECT_EQ(image.kernel("bounded").cluster.x, 0u);
  EXPECT_EQ(image.kernel("before").max_threads, 64u);
  EXPECT_EQ(image.kernel("before").static_shared, 264u);
  EXPECT_EQ(image.kernel("bounded").static_shared, 0u);
}

// Attributes may depend on template parameters.
TEST_P(Kernel, InstancesHaveTheAttributesOfTheirTemplate) {
  device_image image{
      made(R"(namespace ns {
template <int N, class T = float> __global__ void __launch_bounds__(N * 2, 3) bounded(T* x) { x[0] = N; }
template <int N> __global__ void __cluster_dims__(N, 1, 1) clustered(float* x) { x[0] = N; }
template <class T> __global__ void __launch_bounds__(96) fixed(T* x) { x[0] = 1; }
template __global__ void bounded<16, float>(float*);
template __global__ void clustered<4>(float*);
template __global__ void fixed(double*);
})",
           {"ns::bounded<32, double>", "ns::bounded<8>", "ns::clustered<2>", "ns::fixed<int>"})};
  EXPECT_EQ(image.kernel("_ZN2ns7boundedILi16EfEEvPT0_").max_threads, 32u);
  EXPECT_EQ(image.kernel("_ZN2ns7boundedILi16EfEEvPT0_").min_blocks, 3u);
  EXPECT_EQ(image.kernel("_ZN2ns9clusteredILi4EEEvPf").cluster.x, 4u);
  EXPECT_EQ(image.kernel("_ZN2ns5fixedIdEEvPT_").max_threads, 96u);
  EXPECT_EQ(image.kernel("_ZN2ns7boundedILi32EdEEvPT0_").max_threads, 64u);
  EXPECT_EQ(image.kernel("_ZN2ns7boundedILi8EfEEvPT0_").max_threads, 16u);
  EXPECT_EQ(image.kernel("_ZN2ns9clusteredILi2EEEvPf").cluster.x, 2u);
  EXPECT_EQ(image.kernel("_ZN2ns5fixedIiEEvPT_").max_threads, 96u);
}

TEST_P(Kernel, NamesMayContainUnicodeLetters) {
  device_image image{made(R"(// ☃
__device__ int doppelt(int größe) { return 2 * größe; }
extern "C" __global__ void letters(int* länge) { __syncthreads(); int größe = 1; länge[0] = doppelt(größe) + sizeof("☃"); }
)")};
  int x = 0;
  image.launch("letters", {}, &x);
  EXPECT_EQ(x, 6);
}

TEST_P(Kernel, DeviceCodeMayUseCpp) {
  device_image image{
      made(R"(template <class F> __device__ __forceinline__ int apply(F f, int x) { return f(x); }
struct base { int k; __device__ __host__ base(int v) : k{v} {} __device__ int operator()(int x) const { return k * x; } };
struct derived : base { using base::base; __device__ int twice(int x) const { return 2 * (*this)(x); } };
__device__ __noinline__ int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
template <int N> struct factorial { static constexpr int value = N * factorial<N - 1>::value; };
template <> struct factorial<0> { static constexpr int value = 1; };
enum class kind { a, b };
extern "C" __global__ void all(int* out) {
  auto twice = [=] __device__ (int x) { return 2 * x; };
  out[0] = apply(twice, 4);
  out[1] = derived{3}.twice(5);
  out[2] = fib(10);
  out[3] = factorial<5>::value;
  out[4] = kind::b == kind::b ? 1 : 0;
  int sum = 0;
  #pragma unroll 4
  for (int i = 0; i < 10; ++i) sum += i;
  #pragma unroll
  for (int i = 0; i < 4; ++i) sum += i;
  out[5] = sum;
  float4 v = make_float4(1, 2, 3, 4);
  int2 w{5, 6};
  out[6] = int(v.x + v.w) + w.y;
  out[7] = __CUDA_ARCH__ + (sizeof(float3) == 12) + (alignof(float4) == 16) + (alignof(int2) == 8);
  int *p = (int*)malloc(40), local[4] = {};
  memset(p, 0, 40); memcpy(local, p, 16);
  out[8] = local[3] + p[9];
  free(p);
})")};
  int out[9];
  image.launch("all", {}, +out);
  const int expected[9] = {8, 30, 55, 120, 1, 51, 11, 903, 0};
  for (int i = 0; i < 9; ++i) EXPECT_EQ(out[i], expected[i]) << i;
}

WEIR_WITH_EVERY_COMPILER(Kernel);

}  // namespace weir::test
