// SPDX-License-Identifier: Apache-2.0
// api/kernel/kernel_fixture.hpp - a few kernels and variables, compiled for the device of the test.
#pragma once

#include <weir/kernel/launch.hpp>
#include <weir/kernel/module.hpp>
#include <weir/kernel/program.hpp>
#include <weir/memory/buffer.hpp>
#include <weir/memory/copy.hpp>
#include <weir/stream/stream.hpp>

#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/errors.hpp"

namespace weir::test {

// Laid out as in the source of the kernel take_all().
struct mixed {
  char a;
  double b;
  short c;
};

inline constexpr const char* kernels_source = R"(
struct mixed { char a; double b; short c; };

__device__ int counter = 17;
__device__ float series[8];
__constant__ int table[4] = {1, 2, 3, 4};

extern "C" __global__ void fill(int* x, int value, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = value;
}
extern "C" __global__ void count(unsigned* total) { atomicAdd(total, 1u); }
extern "C" __global__ void store(int* x, int value) { *x = value; }
extern "C" __global__ void copy_ints(const int* from, int* to, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) to[i] = from[i];
}
extern "C" __global__ void take_all(char a, short b, int c, long long d, float e, double f, bool g, mixed m,
                                    const int* in, double* out) {
  out[0] = a; out[1] = b; out[2] = c; out[3] = (double)d; out[4] = e; out[5] = f; out[6] = g;
  out[7] = m.a; out[8] = m.b; out[9] = m.c; out[10] = *in;
}
extern "C" __global__ void read_variables(int* x) {
  x[0] = counter;
  for (int i = 0; i < 4; ++i) x[1 + i] = table[i];
  counter = 18;
}
extern "C" __global__ void reverse(int* x) {
  extern __shared__ int turned[];
  const int i = threadIdx.x;
  turned[blockDim.x - 1 - i] = x[i];
  __syncthreads();
  x[i] = turned[i];
}
extern "C" __global__ void nothing() {}

template <class T> __global__ void scale(T* x, T by, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= by;
}
namespace inner { __global__ void seven(int* x) { *x = 7; } }
__global__ void twice_there(int* x) { *x = 1; }
__global__ void twice_there(float* x) { *x = 1; }
)";

// Products are cached for the other tests, in a folder separate from the user's cache.
inline void keep_products_of_tests() {
  static const std::string folder = testing::TempDir() + "weir-tests-cache";
  ::setenv("WEIR_CACHE", folder.c_str(), 0);
}

class Kernels : public ::testing::Test {
 protected:
  void SetUp() override {
    keep_products_of_tests();
    try {
      code.emplace(source.compile(gpu));
    } catch (const compile_error& e) {
      if (e.result() != errc::jit_compiler_not_found) throw;
      GTEST_SKIP() << e.what();
    }
  }

  [[nodiscard]] std::vector<int> values_of(const buffer<int>& memory) {
    std::vector<int> values(memory.size());
    copy(s, memory, values);
    s.sync();
    return values;
  }

  program source{kernels_source,
                 {.name = "kernels.cu", .name_expressions = {"scale<float>", "scale<double>"}}};
  device gpu;
  stream s{gpu};
  buffer<int> x{s, 1000};
  std::optional<module> code;
};

}  // namespace weir::test
