// SPDX-License-Identifier: Apache-2.0
// Lesson 16: the source of stream-ordered memory, and how much of it is kept.
#include <cstdio>
#include <vector>
#include <weir/weir.hpp>

int main() {
  const weir::device gpu;
  const weir::stream s{gpu};
  weir::set_name(s, "worker");

  // A separate pool: at most 256 MiB, and idle memory is kept. By default a pool releases idle
  // memory whenever the host has waited for work, so each round of the loop below would pay for
  // allocations of the device.
  const weir::memory_pool pool{gpu, {.max_size = 256 << 20, .release_threshold = weir::keep_all}};
  weir::set_name(pool, "of the lesson");

  for (int round = 0; round < 3; ++round) {
    const weir::profile_range range{"round"};  // shown by a profiler
    weir::buffer<int> x{pool, s, 1 << 20};
    weir::fill(s, x, round);
    s.sync();
  }
  const weir::pool_usage usage = pool.usage();
  std::printf("%llu bytes in use, %llu at most, %llu kept\n", usage.used, usage.used_high,
              usage.reserved);
  if (usage.used != 0 || usage.reserved < (sizeof(int) << 20)) return 1;

  // If there is no memory left, the error names the pool. A retrying pool first waits for frees
  // that are queued.
  try {
    const weir::buffer<char> too_much{pool.retrying(), s, 512 << 20};
    return 1;
  } catch (const weir::error& e) {
    std::printf("%s\n", e.what());
  }

  // Many copies in one call.
  const std::vector<int> first(1000, 1);
  const std::vector<int> second(2000, 2);
  weir::buffer<int> x{pool, s, first.size()};
  weir::buffer<int> y{pool, s, second.size()};
  weir::copy_batch batch;
  batch.add(first, x).add(second, y);
  batch.enqueue(s);

  // A container of the standard library in memory that the device accesses in place.
  const weir::memory_pool pinned{
      gpu, {.memory = weir::pool_memory::pinned, .release_threshold = weir::keep_all}};
  std::vector<int, weir::pinned_allocator<int>> result(second.size(), 0, pinned);
  weir::copy(s, y, result);
  s.sync();
  std::printf("the last of %zu is %d\n", result.size(), result.back());
  return result.back() == 2 ? 0 : 1;
}
