// SPDX-License-Identifier: Apache-2.0
// tests/compile/memory_test.cpp - shared, constant, managed and global variables of the device.
#include <regex>
#include <string>

#include "compiled.hpp"

namespace weir::test {

class DeviceMemory : public Compiled {};

TEST_P(DeviceMemory, VariablesAreInTheTable) {
  device_image image{made(R"(__device__ int counter = 5, pair[2] = {1, 2}, *pointer;
__constant__ float table[16];
__managed__ double shared_with_host = 1.5;
namespace n { static __device__ unsigned char bytes[7]; }
struct point { float x, y; };
__constant__ point origin{1, 2};
__device__ void (*callback)(int) = nullptr;
extern "C" __device__ int linked;
int linked;
extern __device__ int elsewhere;
__device__ int function(int x) { return x; }
extern "C" __global__ void use(float* out) { out[0] = table[3] + origin.y + counter + n::bytes[2]; ++counter; }
)")};
  EXPECT_EQ(image.table().variable_count, 8u);
  EXPECT_EQ(image.variable("pair").bytes, 8u);
  EXPECT_EQ(image.variable("table").memory, weir_memory_constant);
  EXPECT_EQ(image.variable("shared_with_host").memory, weir_memory_managed);
  EXPECT_EQ(image.variable("counter").memory, weir_memory_device);
  EXPECT_EQ(image.variable("_ZN1nL5bytesE").bytes, 7u);
  static_cast<float*>(image.variable("table").address)[3] = 10;
  float out = 0;
  image.launch("use", {}, &out);
  EXPECT_EQ(out, 10 + 2 + 5 + 0);
  EXPECT_EQ(*static_cast<int*>(image.variable("counter").address), 6);
}

TEST_P(DeviceMemory, EachBlockHasItsOwnSharedMemory) {
  device_image image{made(R"(__shared__ int at_file_scope[4];
template <class T> __device__ T* scratch() { __shared__ T memory[64]; return memory; }
extern "C" __global__ void reverse(int* x) {
  static __shared__ __align__(16) int tile[64];
  __shared__ int total, *where;
  const int t = threadIdx.x, i = blockIdx.x * 64 + t;
  if (t == 0) total = 0, where = &at_file_scope[1];
  float* f = scratch<float>();
  tile[t] = x[i];
  f[t] = x[i] * 0.5f;
  __syncthreads();
  atomicAdd(&total, 1);
  if (t == 1) *where = 100;
  __syncthreads();
  x[i] = tile[63 - t] + total - 64 + int(f[63 - t] * 2) - tile[63 - t] + at_file_scope[1] - 100;
})")};
  std::vector<int> x(128);
  for (int i = 0; i < 128; ++i) x[static_cast<std::size_t>(i)] = i;
  image.launch("reverse", {{2, 1, 1}, {64, 1, 1}}, x.data());
  for (int i = 0; i < 128; ++i)
    ASSERT_EQ(x[static_cast<std::size_t>(i)], i / 64 * 64 + 63 - i % 64);
}

TEST_P(DeviceMemory, TheLaunchSetsTheDynamicSharedMemory) {
  device_image image{made(R"(extern __shared__ int at_file_scope[];
__device__ int helper(int i) { return at_file_scope[i]; }
__device__ int other(int* at_file_scope) { return at_file_scope[0]; }
extern "C" __global__ void ints(int* out) {
  extern __shared__ int s[];
  s[threadIdx.x] = threadIdx.x * 2;
  __syncthreads();
  out[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x] + helper(0) + other(s) + (&s[0] == at_file_scope ? 0 : 1);
}
template <class T> __device__ T* dynamic() { extern __shared__ __align__(16) unsigned char raw[]; return reinterpret_cast<T*>(raw); }
extern "C" __global__ void doubles(double* out) {
  extern __shared__ float4 s[];
  double* d = dynamic<double>();
  d[threadIdx.x] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = d[7 - threadIdx.x] + (((size_t)s & 127) == 0 ? 0 : 1);
})")};
  int out[8];
  image.launch("ints", {{1, 1, 1}, {8, 1, 1}, 64}, +out);
  for (int i = 0; i < 8; ++i) EXPECT_EQ(out[i], (7 - i) * 2);
  double d[8];
  image.launch("doubles", {{1, 1, 1}, {8, 1, 1}, 64}, +d);
  for (int i = 0; i < 8; ++i) EXPECT_EQ(d[i], 7 - i);
}

TEST_P(DeviceMemory, AtomicsWorkForEveryTypeAndScope) {
  const std::string source = R"(#include <cuda/atomic>
#include <cuda_fp16.h>
extern "C" __global__ void all(int* i, unsigned* u, unsigned long long* l, float* f, double* d, __half* h, unsigned short* s, float4* v) {
  atomicAdd(&i[0], 4); atomicSub(&i[0], 1);
  atomicMin(&i[1], -int(threadIdx.x)); atomicMax(&i[2], int(threadIdx.x)); atomicExch(&i[3], 7);
  atomicCAS(&i[4], 0, 9); atomicAnd(&i[5], ~(1 << threadIdx.x)); atomicOr(&i[6], 1 << threadIdx.x); atomicXor(&i[7], 1 << threadIdx.x);
  atomicInc(&u[0], 5); atomicDec(&u[1], 5); atomicMax(&u[2], threadIdx.x);
  atomicAdd(&l[0], 1ull << 40); atomicMax(&l[1], (unsigned long long)threadIdx.x); atomicCAS(&l[2], 0ull, 3ull);
  atomicAdd(f, 0.5f); atomicExch(&f[1], 2.5f); atomicAdd(d, 0.25); atomicAdd(h, __float2half(1.0f));
  atomicCAS(s, (unsigned short)0, (unsigned short)8);
  atomicAdd(v, make_float4(1, 2, 3, 4)); atomicAdd((float2*)v, make_float2(10, 20));
  cuda::atomic_ref<int, cuda::thread_scope_device> r(i[8]);
  r.fetch_add(3, cuda::memory_order_relaxed); r++; r.fetch_max(5);
  __threadfence(); __threadfence_block(); __threadfence_system();
})";
  for (const char* const scope : {"", "_block", "_system"}) {
    SCOPED_TRACE(scope);
    device_image image{made(std::regex_replace(source, std::regex{R"((atomic[A-Z][A-Za-z]+)\()"},
                                               "$1" + std::string{scope} + "("))};
    int i[9] = {0, 100, -1, 0, 0, -1, 0, 0, 0};
    unsigned u[3] = {0, 0, 0};
    unsigned long long l[3] = {};
    float f[2] = {};
    double d = 0;
    unsigned short h = 0, s = 0;
    alignas(16) float v[4] = {};
    image.launch("all", {{1, 1, 1}, {8, 1, 1}}, +i, +u, +l, +f, &d, &h, &s, +v);
    const int expected[9] = {24, -7, 7, 7, 9, ~255, 255, 255, 33};
    for (int k = 0; k < 9; ++k) EXPECT_EQ(i[k], expected[k]) << k;
    EXPECT_EQ(u[0], 2u);  // 0..5 and around
    EXPECT_EQ(u[1], 4u);  // 0, 5, 4, 3, 2, 1, 0, 5
    EXPECT_EQ(v[0], 88.0f);
    EXPECT_EQ(v[1], 176.0f);
    EXPECT_EQ(v[3], 32.0f);
    EXPECT_EQ(u[2], 7u);
    EXPECT_EQ(l[0], 8ull << 40);
    EXPECT_EQ(l[1], 7u);
    EXPECT_EQ(l[2], 3u);
    EXPECT_EQ(f[0], 4);
    EXPECT_EQ(f[1], 2.5f);
    EXPECT_EQ(d, 2);
    EXPECT_EQ(h, 0x4800);  // 8
    EXPECT_EQ(s, 8);
  }
}

WEIR_WITH_EVERY_COMPILER(DeviceMemory);

}  // namespace weir::test
