// SPDX-License-Identifier: Apache-2.0
// images/kernels.cpp - a module image for the benchmarks, written by hand against the driver's ABI.
#include "driver/abi/module_abi.h"

#include <ctime>

namespace {

const weir_services* services;

void empty(const weir_block*, const void* const*, unsigned, unsigned) {}

// __global__ void meet(unsigned times)
void meet(const weir_block*, const void* const* arguments, unsigned, unsigned) {
  const unsigned times = *static_cast<const unsigned*>(arguments[0]);
  for (unsigned i = 0; i < times; ++i) services->block_barrier(weir_barrier_plain, 0);
}

// __global__ void saxpy(unsigned n, float a, const float* x, float* y)
void saxpy(const weir_block* block, const void* const* arguments, unsigned first, unsigned count) {
  const unsigned n = *static_cast<const unsigned*>(arguments[0]);
  const float a = *static_cast<const float*>(arguments[1]);
  const float* const x = *static_cast<const float* const*>(arguments[2]);
  float* const y = *static_cast<float* const*>(arguments[3]);
  const unsigned begin = block->index.x * block->size.x + first;
  const unsigned end = begin + count < n ? begin + count : n;
  for (unsigned i = begin; i < end; ++i) y[i] = a * x[i] + y[i];
}

long long now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1'000'000'000LL + time.tv_nsec;
}

// __global__ void last(long long nanoseconds, long long* ended): runs that long and records when it
// ends.
void last(const weir_block*, const void* const* arguments, unsigned, unsigned) {
  const long long until = now() + *static_cast<const long long*>(arguments[0]);
  long long* const ended = *static_cast<long long* const*>(arguments[1]);
  while ((*ended = now()) < until) {
  }
}

constexpr weir_parameter one[] = {{0, 4, 4}};
constexpr weir_parameter of_saxpy[] = {{0, 4, 4}, {4, 4, 4}, {8, 8, 8}, {16, 8, 8}};
constexpr weir_parameter of_last[] = {{0, 8, 8}, {8, 8, 8}};
constexpr weir_kernel kernels[] = {
    {"empty", empty, nullptr, 0, 0, 1024, 0, {0, 0, 0}, 0, 0, nullptr},
    {"meet", meet, one, 1, weir_kernel_waits, 1024, 0, {0, 0, 0}, 0, 0, nullptr},
    {"last", last, of_last, 2, 0, 1024, 0, {0, 0, 0}, 0, 0, nullptr},
    {"saxpy", saxpy, of_saxpy, 4, 0, 1024, 0, {0, 0, 0}, 0, 0, nullptr},
};

}  // namespace

extern "C" __attribute__((visibility("default"))) const weir_module_table weir_module = {
    weir_module_version, 4, 0, 0, kernels, nullptr, &services, "", ""};
