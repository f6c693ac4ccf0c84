// SPDX-License-Identifier: Apache-2.0
// occupancy_test.cpp - how many blocks fit on a multiprocessor, by the resources of each block.
#include "image_fixture.hpp"

#include <optional>

namespace weir::embedded {
namespace {

constexpr int kib = 1024;

class Occupancy : public memory_test {
 protected:
  void SetUp() override {
    memory_test::SetUp();
    module_.emplace();
    add = module_->function("add");
    reverse = module_->function("reverse");
  }
  void TearDown() override {
    module_.reset();
    memory_test::TearDown();
  }

  static int blocks(CUfunction of, int threads, std::size_t shared = 0) {
    int count = -1;
    EXPECT_EQ(driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(&count, of, threads, shared),
              CUDA_SUCCESS);
    return count;
  }
  static void set(CUfunction of, CUfunction_attribute which, int value) {
    EXPECT_EQ(driver.cuFuncSetAttribute(of, which, value), CUDA_SUCCESS);
  }

  [[nodiscard]] CUfunction function(const char* name) const { return module_->function(name); }

  CUfunction add = nullptr;
  CUfunction reverse = nullptr;

 private:
  std::optional<test_module> module_;
};

// A multiprocessor has 2048 threads in 64 warps, and 32 blocks.
TEST_F(Occupancy, WarpsAndBlocksLimitOccupancy) {
  EXPECT_EQ(blocks(add, 1024), 2);
  EXPECT_EQ(blocks(add, 1000), 2);
  EXPECT_EQ(blocks(add, 768), 2);
  EXPECT_EQ(blocks(add, 512), 4);
  EXPECT_EQ(blocks(add, 65), 21);
  EXPECT_EQ(blocks(add, 64), 32);
  EXPECT_EQ(blocks(add, 1), 32);
  EXPECT_EQ(blocks(add, 1025), 0);
  EXPECT_EQ(blocks(reverse, 256), 8);
  EXPECT_EQ(blocks(reverse, 257), 7);  // more than it was compiled for: such a launch fails
}

// A block uses 1 KiB more shared memory than it requests, rounded up to 128 bytes.
TEST_F(Occupancy, SharedMemoryLimitsOccupancy) {
  EXPECT_EQ(blocks(add, 64, 6 * kib), 32);
  EXPECT_EQ(blocks(add, 64, 7 * kib), 28);
  EXPECT_EQ(blocks(add, 64, 48 * kib), 4);
  EXPECT_EQ(blocks(add, 64, 48 * kib + 1), 0);
  set(add, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 227 * kib);
  EXPECT_EQ(blocks(add, 64, 113 * kib), 2);
  EXPECT_EQ(blocks(add, 64, 113 * kib + 1), 1);
  EXPECT_EQ(blocks(add, 64, 227 * kib), 1);
  EXPECT_EQ(blocks(add, 64, 227 * kib + 1), 0);
}

// A function's preferred carveout limits occupancy, but leaves room for one block.
TEST_F(Occupancy, TheCarveoutLimitsOccupancy) {
  set(add, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 50);  // 132 KiB
  EXPECT_EQ(blocks(add, 64, 10 * kib), 12);
  set(add, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 0);
  EXPECT_EQ(blocks(add, 64, 10 * kib), 1);  // 16 KiB
  set(add, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, -1);
  EXPECT_EQ(blocks(add, 64, 10 * kib), 20);
  EXPECT_EQ(driver.cuFuncSetCacheConfig(add, CU_FUNC_CACHE_PREFER_EQUAL), CUDA_SUCCESS);
  EXPECT_EQ(blocks(add, 64, 10 * kib), 12);
}

TEST_F(Occupancy, TheSuggestedBlockFillsAMultiprocessor) {
  int grid = 0;
  int block = 0;
  const auto choose = [&](CUfunction of, CUoccupancyB2DSize shared_of, std::size_t shared,
                          int limit) {
    return driver.cuOccupancyMaxPotentialBlockSize(&grid, &block, of, shared_of, shared, limit);
  };
  EXPECT_EQ(choose(add, nullptr, 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(block, 1024);
  EXPECT_EQ(grid, 2 * 132);
  EXPECT_EQ(choose(add, nullptr, 0, 300),
            CUDA_SUCCESS);  // 7 * 288 threads are fewer than 8 * 256
  EXPECT_EQ(block, 256);
  EXPECT_EQ(grid, 8 * 132);
  EXPECT_EQ(choose(reverse, nullptr, 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(block, 256);
  const auto much_for_many = [](int threads) { return static_cast<std::size_t>(threads) * 200; };
  EXPECT_EQ(choose(add, much_for_many, 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(block, 224);  // five blocks; and no more threads than 7 * 160
  EXPECT_EQ(grid, 5 * 132);
  EXPECT_EQ(choose(add, nullptr, 0, -1), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Occupancy, AvailableSharedMemoryIsDividedByBlocks) {
  std::size_t shared = 0;
  const auto available = [&](CUfunction of, int count, int threads) {
    return driver.cuOccupancyAvailableDynamicSMemPerBlock(&shared, of, count, threads);
  };
  EXPECT_EQ(available(add, 1, 64), CUDA_SUCCESS);
  EXPECT_EQ(shared, 48u * kib);
  EXPECT_EQ(available(add, 8, 64), CUDA_SUCCESS);
  EXPECT_EQ(shared,
            // one eighth of the total: the driver's 1 KiB per block is not subtracted
            28u * kib + kib / 2);
  EXPECT_EQ(available(reverse, 8, 256), CUDA_SUCCESS);
  EXPECT_EQ(shared, 27u * kib + kib / 2);
  EXPECT_EQ(available(add, 3, 1024), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(available(add, 0, 64), CUDA_ERROR_INVALID_VALUE);
}

// A cluster occupies one GPC, which needs as many free multiprocessors as the cluster has blocks.
TEST_F(Occupancy, ActiveClustersAreCounted) {
  CUlaunchAttribute cluster{};
  cluster.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  cluster.value.clusterDim = {8, 1, 1};
  CUlaunchConfig config{16, 1, 1, 1024, 1, 1, 120 * kib, nullptr, &cluster, 1};
  int count = 0;
  set(add, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 120 * kib);
  EXPECT_EQ(driver.cuOccupancyMaxActiveClusters(&count, add, &config), CUDA_SUCCESS);
  EXPECT_EQ(count, 15);
  cluster.value.clusterDim = {16, 1, 1};
  EXPECT_EQ(driver.cuOccupancyMaxActiveClusters(&count, add, &config),
            CUDA_ERROR_INVALID_CLUSTER_SIZE);
  EXPECT_EQ(driver.cuOccupancyMaxPotentialClusterSize(&count, add, &config),
            CUDA_ERROR_INVALID_CLUSTER_SIZE);
  cluster.value.clusterDim = {8, 1, 1};
  EXPECT_EQ(driver.cuOccupancyMaxPotentialClusterSize(&count, add, &config), CUDA_SUCCESS);
  EXPECT_EQ(count, 8);
  cluster.value.clusterDim = {16, 1, 1};
  set(add, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1);
  EXPECT_EQ(driver.cuOccupancyMaxActiveClusters(&count, add, &config), CUDA_SUCCESS);
  EXPECT_EQ(count, 7);
  EXPECT_EQ(driver.cuOccupancyMaxPotentialClusterSize(&count, add, &config), CUDA_SUCCESS);
  EXPECT_EQ(count, 16);
  config.gridDimX = 24;  // not a multiple of the cluster size
  EXPECT_EQ(driver.cuOccupancyMaxActiveClusters(&count, add, &config),
            CUDA_ERROR_INVALID_CLUSTER_SIZE);
  config.numAttrs = 0;
  EXPECT_EQ(driver.cuOccupancyMaxActiveClusters(&count, add, &config), CUDA_SUCCESS);
  EXPECT_EQ(count, 0);
  config.sharedMemBytes = 0;
  EXPECT_EQ(driver.cuOccupancyMaxActiveClusters(&count, function("in_cluster"), &config),
            CUDA_SUCCESS);
  EXPECT_EQ(count, 132);
}

TEST_F(Occupancy, InvalidArgumentsAreRefused) {
  int count = 0;
  EXPECT_EQ(driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(nullptr, add, 64, 0),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(&count, add, 0, 0),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(&count, nullptr, 64, 0),
            CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(driver.cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&count, add, 64, 0, 2),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
                &count, add, 64, 0, CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE),
            CUDA_SUCCESS);
}

}  // namespace
}  // namespace weir::embedded
