// SPDX-License-Identifier: Apache-2.0
// numbers.cpp - a module with kernels of several signatures and a variable in each kind of memory.
#include "driver/abi/module_abi.h"

namespace {

const weir_services* services;

// __global__ void add(unsigned* to, const unsigned* from, unsigned n)
void add_thread(const weir_block& block, const void* const* arguments, unsigned x) {
  auto* const to = *static_cast<unsigned* const*>(arguments[0]);
  const auto* const from = *static_cast<const unsigned* const*>(arguments[1]);
  const unsigned n = *static_cast<const unsigned*>(arguments[2]);
  const unsigned i = block.index.x * block.size.x + x;
  if (i < n) to[i] += from[i];
}
void add(const weir_block* block, const void* const* arguments, unsigned first, unsigned count) {
  for (unsigned x = first; x < first + count; ++x) add_thread(*block, arguments, x);
}
constexpr weir_parameter add_parameters[] = {{0, 8, 8}, {8, 8, 8}, {16, 4, 4}};

// __global__ void reverse(unsigned* values): reverses the values of a block through its static
// shared memory.
thread_local unsigned reversed[256] __attribute__((tls_model("local-dynamic")));
void reverse(const weir_block* block, const void* const* arguments, unsigned first, unsigned) {
  const unsigned x = first;
  auto* const values =
      *static_cast<unsigned* const*>(arguments[0]) + block->index.x * block->size.x;
  reversed[x] = values[x];
  services->block_barrier(weir_barrier_plain, 0);
  values[x] = reversed[block->size.x - 1 - x];
}
constexpr weir_parameter reverse_parameters[] = {{0, 8, 8}};

// __global__ void count(): every thread increments the variable.
unsigned counter = 17;
void count(const weir_block*, const void* const*, unsigned, unsigned count) {
  __atomic_fetch_add(&counter, count, __ATOMIC_RELAXED);
}

// __global__ __cluster_dims__(2, 1, 1) void in_cluster()
void nothing(const weir_block*, const void* const*, unsigned, unsigned) {}

float table[16] = {1, 2, 3};
unsigned long long shared_with_host = 5;

constexpr weir_kernel kernels[] = {
    {"add", add, add_parameters, 3, 0, 1024, 0, {0, 0, 0}, 0, 0, nullptr},
    {"reverse",
     reverse,
     reverse_parameters,
     1,
     weir_kernel_waits,
     256,
     2,
     {0, 0, 0},
     sizeof reversed,
     64,
     nullptr},
    {"count", count, nullptr, 0, 0, 1024, 0, {0, 0, 0}, 0, 0, nullptr},
    {"in_cluster", nothing, nullptr, 0, 0, 1024, 0, {2, 1, 1}, 0, 0, nullptr},
};
const weir_variable variables[] = {
    {"counter", &counter, sizeof counter, weir_memory_device},
    {"table", table, sizeof table, weir_memory_constant},
    {"shared_with_host", &shared_with_host, sizeof shared_with_host, weir_memory_managed},
};

}  // namespace

extern "C" __attribute__((visibility("default"))) const weir_module_table weir_module = {
    weir_module_version, 4, 3, 0, kernels, variables, &services, "", ""};
