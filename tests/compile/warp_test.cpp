// SPDX-License-Identifier: Apache-2.0
// tests/compile/warp_test.cpp - communication between threads of a block: barriers, warps,
// cooperative groups.
#include "compiled.hpp"

namespace weir::test {

class Warp : public Compiled {};

TEST_P(Warp, BlockBarriersCountPredicates) {
  device_image image{made(R"(extern "C" __global__ void count(int* out) {
  const int t = threadIdx.x;
  out[t] = __syncthreads_count(t % 3 == 0) * 100 + __syncthreads_and(t < 40) * 10 + __syncthreads_or(t == 39);
  if (t == 5) return;
  __syncthreads();
  out[t] += 1000;
})")};
  int out[40];
  image.launch("count", {{1, 1, 1}, {40, 1, 1}}, +out);
  for (int t = 0; t < 40; ++t) EXPECT_EQ(out[t], 1411 + (t == 5 ? 0 : 1000));
  EXPECT_EQ(image.kernel("count").flags, weir_kernel_waits);
}

TEST_P(Warp, WarpFunctionsComputeTheirResults) {
  device_image image{made(R"(extern "C" __global__ void warp(int* out, float* sums) {
  const int t = threadIdx.x, lane = t & 31;
  int* o = out + t * 16;
  o[0] = __shfl_sync(~0u, t, 3);
  o[1] = __shfl_up_sync(~0u, t, 1);
  o[2] = __shfl_down_sync(~0u, t, 2, 8);
  o[3] = __shfl_xor_sync(~0u, t, 1);
  o[4] = __ballot_sync(~0u, lane < 4);
  o[5] = __any_sync(~0u, lane == 31) * 2 + __all_sync(~0u, lane < 31);
  o[6] = __match_any_sync(~0u, lane / 8);
  int same;
  o[7] = __match_all_sync(~0u, 5, &same) + same;
  o[8] = __reduce_add_sync(~0u, t) + __reduce_max_sync(~0u, lane) + int(__reduce_xor_sync(~0u, 1u << lane) == ~0u);
  if (lane % 2) { o[9] = __activemask(); __syncwarp(0xaaaaaaaau); o[10] = __shfl_sync(0xaaaaaaaau, lane, 1); }
  float s = t;
  for (int d = 16; d > 0; d /= 2) s += __shfl_down_sync(~0u, s, d);
  if (lane == 0) sums[t / 32] = s;
  double wide = __shfl_sync(~0u, t * 0.5, 31);
  o[11] = int(wide * 2);
})")};
  std::vector<int> out(64 * 16);
  float sums[2];
  image.launch("warp", {{1, 1, 1}, {64, 1, 1}}, out.data(), +sums);
  EXPECT_EQ(sums[0], 496);
  EXPECT_EQ(sums[1], 496 + 32 * 32);
  for (int t = 0; t < 64; ++t) {
    const int base = t / 32 * 32, lane = t % 32;
    const int* const o = &out[static_cast<std::size_t>(t) * 16];
    EXPECT_EQ(o[0], base + 3);
    EXPECT_EQ(o[1], lane == 0 ? t : t - 1);
    EXPECT_EQ(o[2], lane % 8 < 6 ? t + 2 : t);
    EXPECT_EQ(o[3], t ^ 1);
    EXPECT_EQ(o[4], 15);
    EXPECT_EQ(o[5], 2);
    EXPECT_EQ(o[6], static_cast<int>(0xffu << (lane / 8 * 8)));
    EXPECT_EQ(o[7], 0);  // all lanes, plus 1
    EXPECT_EQ(o[8], 496 + base * 32 + 31 + 1);
    EXPECT_EQ(o[11], base + 31);
    if (lane % 2 == 0) continue;
    EXPECT_EQ(o[9], static_cast<int>(0xaaaaaaaau));
    EXPECT_EQ(o[10], 1);
  }
}

TEST_P(Warp, CooperativeGroupsSynchronizeAndReduce) {
  device_image image{made(R"(#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;
template <class Group> __device__ int sum(const Group& g, int v) {
  for (int d = g.size() / 2; d > 0; d /= 2) v += g.shfl_down(v, d);
  return g.shfl(v, 0);
}
struct triple { double a, b; int c; };
extern "C" __global__ void groups(int* out) {
  cg::thread_block block = cg::this_thread_block();
  auto tile = cg::tiled_partition<8>(block);
  int* o = out + block.thread_rank() * 16;
  o[0] = sum(tile, 1) + tile.thread_rank() * 100 + tile.meta_group_rank() * 1000;
  o[1] = cg::reduce(tile, int(threadIdx.x), cg::plus<int>());
  o[2] = cg::reduce(tile, int(threadIdx.x), cg::greater<int>());
  o[3] = cg::inclusive_scan(tile, 1) * 10 + cg::exclusive_scan(tile, 1);
  block.sync();
  if (threadIdx.x % 4 == 1) {
    cg::coalesced_group some = cg::coalesced_threads();
    o[4] = some.size() * 100 + some.thread_rank();
    o[5] = some.shfl(int(threadIdx.x), 2);
    o[6] = some.ballot(some.thread_rank() < 3);
  }
  auto odd = cg::binary_partition(tile, threadIdx.x % 2);
  o[7] = odd.size() * 10 + odd.thread_rank();
  auto same = cg::labeled_partition(tile, threadIdx.x % 8 / 3);
  o[8] = same.size();
  triple t = tile.shfl(triple{threadIdx.x * 1.0, 2.0, 3}, 5);
  o[9] = int(t.a + t.b) + t.c;
  cg::thread_group any = cg::tiled_partition(block, 4);
  any.sync();
  o[10] = any.thread_rank() * 10 + any.size();
  cg::grid_group grid = cg::this_grid();
  o[11] = grid.thread_rank() + grid.num_blocks();
  cg::invoke_one(tile, [&] { o[12] = 77; });
  cg::thread_block_tile<4> within = cg::tiled_partition<4>(tile);
  o[13] = within.meta_group_rank() * 10 + within.meta_group_size();
})")};
  std::vector<int> out(32 * 16);
  image.launch("groups", {{1, 1, 1}, {32, 1, 1}}, out.data());
  for (int t = 0; t < 32; ++t) {
    const int* const o = &out[static_cast<std::size_t>(t) * 16];
    const int first = t / 8 * 8, in = t % 8;
    EXPECT_EQ(o[0], 8 + in * 100 + t / 8 * 1000);
    EXPECT_EQ(o[1], first * 8 + 28);
    EXPECT_EQ(o[2], first + 7);
    EXPECT_EQ(o[3], (in + 1) * 10 + in);
    if (t % 4 == 1) {
      EXPECT_EQ(o[4], 800 + t / 4);
      EXPECT_EQ(o[5], 9);
      EXPECT_EQ(o[6], 7);
    }
    EXPECT_EQ(o[7], 40 + in / 2);
    EXPECT_EQ(o[8], in < 6 ? 3 : 2);
    EXPECT_EQ(o[9], first + 5 + 2 + 3);
    EXPECT_EQ(o[10], t % 4 * 10 + 4);
    EXPECT_EQ(o[11], t + 1);
    EXPECT_EQ(o[12], in == 0 ? 77 : 0);
    EXPECT_EQ(o[13], in / 4 * 10 + 2);
  }
}

TEST_P(Warp, OnlyKernelsThatCanWaitAreMarked) {
  device_image image{made(R"(struct op { __device__ void operator()() const { __syncthreads(); } };
__device__ void deep() { __syncwarp(); }
__device__ void deeper() { deep(); }
extern "C" __global__ void plain(int* all) { all[0] = 1; }
extern "C" __global__ void direct() { __syncthreads(); }
extern "C" __global__ void reached() { deeper(); }
extern "C" __global__ void by_class() { op{}(); }
template <class F> __global__ void with(F f) { f(); }
template __global__ void with<op>(op);
struct quiet { __device__ void operator()() const {} };)",
                          {"with<quiet>"})};
  EXPECT_EQ(image.kernel("plain").flags, 0u);
  EXPECT_EQ(image.kernel("direct").flags & weir_kernel_waits, weir_kernel_waits);
  EXPECT_EQ(image.kernel("reached").flags, weir_kernel_waits);
  EXPECT_EQ(image.kernel("by_class").flags, weir_kernel_waits);
  EXPECT_EQ(image.kernel("_Z4withI5quietEvT_").flags, 0u);
  EXPECT_EQ(image.kernel("_Z4withI2opEvT_").flags, weir_kernel_waits);
}

WEIR_WITH_EVERY_COMPILER(Warp);

}  // namespace weir::test
