// SPDX-License-Identifier: Apache-2.0
// Lesson 25: what a kernel requires of a device, how many of its blocks run concurrently, and
// launches based on that.
#include <cstdio>
#include <vector>
#include <weir/weir.hpp>

int main() {
  const weir::device gpu;
  const weir::stream s{gpu};
  const weir::program source{R"(
    // However many threads there are, every element is somebody's.
    extern "C" __global__ void halve(float* x, int n) {
      for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) x[i] *= 0.5f;
    }
  )"};
  const weir::kernel halve = source.compile(gpu).kernel("halve");

  const weir::kernel_attributes has = halve.attributes();
  std::printf("%d registers, %d bytes of shared memory, at most %d threads a block\n",
              has.registers, has.shared_bytes, has.max_threads_per_block);

  // The block size with the highest occupancy, and the smallest number of such blocks that fills
  // the device.
  // [suggest]
  const weir::block_suggestion best = halve.suggest_block();
  const weir::launch_config config{.grid = {best.blocks}, .block = {best.threads}};
  // [/suggest]
  std::printf("%u blocks of %u threads fill %s, %u blocks a multiprocessor\n", best.blocks,
              best.threads, gpu.name(), halve.max_active_blocks(best.threads));

  constexpr int n = 1000000;
  weir::buffer<float> x{s, n};
  weir::fill(s, x, 8.0f);
  weir::launch(s, config, halve, x, n);
  // For a kernel with one element per thread: as many blocks of that size as needed.
  weir::launch(s, weir::grid(n), halve, x, n);
  // A cooperative launch runs all blocks concurrently, so their number is limited.
  weir::launch(s,
               {.grid = {halve.max_cooperative_blocks(128)}, .block = {128}, .cooperative = true},
               halve, x, n);

  std::vector<float> result(n);
  weir::copy(s, x, result);
  s.sync();
  bool right = true;
  for (const float v : result) right = right && v == 1.0f;
  std::printf("%s\n", right ? "as it should be" : "WRONG");
  return right ? 0 : 1;
}
