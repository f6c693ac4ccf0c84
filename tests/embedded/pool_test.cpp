// pool_test.cpp - stream-ordered memory: who gets a freed block, when it goes back, and that no two share one.
#include "memory_fixture.hpp"

#include "embedded/model/memory_pool.hpp"
#include "embedded/model/pool_registry.hpp"

#include <rapidcheck/gtest.h>

#include <algorithm>
#include <bit>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "embedded/model/pool_space.hpp"

namespace weir::embedded {
namespace {

constexpr std::size_t mega = std::size_t{1} << 20;

// A pool of the device that keeps what it has, unless it is told otherwise.
class test_pool {
 public:
  explicit test_pool(cuuint64_t threshold = ~cuuint64_t{0}, std::size_t max_bytes = 0) {
    CUmemPoolProps props{};
    props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    props.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    props.maxSize = max_bytes;
    EXPECT_EQ(driver.cuMemPoolCreate(&handle_, &props), CUDA_SUCCESS);
    set(CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, threshold);
  }
  ~test_pool() {
    if (handle_ != nullptr) destroy();
  }
  test_pool(const test_pool&) = delete;
  test_pool& operator=(const test_pool&) = delete;

  void destroy() { EXPECT_EQ(driver.cuMemPoolDestroy(std::exchange(handle_, nullptr)), CUDA_SUCCESS); }

  template <class Value>
  void set(CUmemPool_attribute attribute, Value value) {
    EXPECT_EQ(driver.cuMemPoolSetAttribute(handle_, attribute, &value), CUDA_SUCCESS);
  }
  [[nodiscard]] cuuint64_t get(CUmemPool_attribute attribute) const {
    cuuint64_t value = 0;
    EXPECT_EQ(driver.cuMemPoolGetAttribute(handle_, attribute, &value), CUDA_SUCCESS);
    return value;
  }
  [[nodiscard]] cuuint64_t used() const { return get(CU_MEMPOOL_ATTR_USED_MEM_CURRENT); }
  [[nodiscard]] cuuint64_t reserved() const { return get(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT); }

  [[nodiscard]] CUmemoryPool handle() const { return handle_; }

  CUresult try_allocate(CUdeviceptr* address, std::size_t bytes, CUstream stream) {
    return driver.cuMemAllocFromPoolAsync(address, bytes, handle_, stream);
  }
  CUdeviceptr allocate(std::size_t bytes, CUstream stream) {
    CUdeviceptr address = 0;
    EXPECT_EQ(try_allocate(&address, bytes, stream), CUDA_SUCCESS);
    return address;
  }
  void trim(std::size_t keep) { EXPECT_EQ(driver.cuMemPoolTrimTo(handle_, keep), CUDA_SUCCESS); }

 private:
  CUmemoryPool handle_ = nullptr;
};

void release(CUdeviceptr address, CUstream stream) { EXPECT_EQ(driver.cuMemFreeAsync(address, stream), CUDA_SUCCESS); }

class Pool : public memory_test {
 protected:
  void SetUp() override {
    memory_test::SetUp();
    chunk = std::min(32 * mega, std::bit_floor(device().total_memory() / 8));
  }

  // Leaves only so much of the device, until the end of the test.
  void leave(std::size_t bytes) {
    taken_ = free_memory() - bytes;
    ASSERT_TRUE(device().take(taken_));
  }
  void TearDown() override {
    device().give_back(taken_);
    memory_test::TearDown();
  }

  std::size_t chunk = 0;  // what a pool reserves at a time

 private:
  std::size_t taken_ = 0;
};

// What a stream frees it gets again at once: its later work comes after the earlier.
TEST_F(Pool, AStreamReusesWhatItFreed) {
  test_pool pool;
  test_stream s;
  held gate{s};
  const CUdeviceptr first = pool.allocate(mega, s);
  release(first, s);
  EXPECT_EQ(pool.allocate(mega, s), first);
  const CUdeviceptr second = pool.allocate(mega, s);
  EXPECT_NE(second, first);
  EXPECT_EQ(pool.used(), 2 * mega);
  release(first, s);
  release(second, s);
}

// Another stream gets it when the free is complete, not before.
TEST_F(Pool, AnotherStreamReusesOnlyWhatIsComplete) {
  test_pool pool;
  test_stream s;
  test_stream t;
  const CUdeviceptr first = pool.allocate(mega, s);
  CUdeviceptr second = 0;
  {
    held gate{s};
    release(first, s);
    second = pool.allocate(mega, t);
    EXPECT_NE(second, first);
    gate.open();
  }
  s.synchronize();
  EXPECT_EQ(pool.allocate(mega, t), first);
  release(first, t);
  release(second, t);
  t.synchronize();
}

TEST_F(Pool, MemoryFreedByTheHostIsFreeAtOnce) {
  test_pool pool;
  test_stream s;
  const CUdeviceptr first = pool.allocate(mega, s);
  s.synchronize();
  test_stream t;
  held gate{s};
  EXPECT_EQ(driver.cuMemFree_v2(first), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemFree_v2(first), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(pool.allocate(mega, t), first);
  release(first, t);
}

TEST_F(Pool, GivesBackWhatIsAboveItsThreshold) {
  test_pool pool{chunk};
  test_stream s;
  const CUdeviceptr a = pool.allocate(chunk, s);
  const CUdeviceptr b = pool.allocate(mega, s);
  EXPECT_EQ(pool.reserved(), 2 * chunk);
  release(a, s);
  release(b, s);
  EXPECT_EQ(pool.used(), 0u);
  s.synchronize();
  EXPECT_EQ(pool.reserved(), chunk);
  pool.trim(chunk + 1);
  EXPECT_EQ(pool.reserved(), chunk);
  pool.trim(1);
  EXPECT_EQ(pool.reserved(), chunk);
  pool.trim(0);
  EXPECT_EQ(pool.reserved(), 0u);
  EXPECT_EQ(pool.get(CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH), 2 * chunk);
  pool.set(CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, cuuint64_t{0});
  EXPECT_EQ(pool.get(CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH), 0u);
}

TEST_F(Pool, DoesNotGiveBackWhatWorkMayStillUse) {
  test_pool pool{0};
  test_stream s;
  test_stream idle;
  const CUdeviceptr a = pool.allocate(mega, s);
  s.synchronize();
  {
    held gate{s};
    release(a, s);
    idle.synchronize();
    pool.trim(0);
    EXPECT_EQ(pool.reserved(), chunk);
    gate.open();
  }
  s.synchronize();
  EXPECT_EQ(pool.reserved(), 0u);
}

TEST_F(Pool, LivesUntilItsLastBlockIsFreed) {
  const std::size_t before = free_memory();
  test_stream s;
  CUdeviceptr a = 0;
  {
    test_pool pool;
    a = pool.allocate(mega, s);
    release(pool.allocate(mega, s), s);
  }
  EXPECT_EQ(driver.cuMemsetD8Async(a, 1, mega, s), CUDA_SUCCESS);
  CUmemoryPool of = nullptr;
  EXPECT_EQ(driver.cuPointerGetAttribute(&of, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, a), CUDA_SUCCESS);
  EXPECT_NE(of, nullptr);
  release(a, s);
  s.synchronize();
  EXPECT_EQ(free_memory(), before);
}

TEST_F(Pool, EndsAtItsLargestSize) {
  test_pool pool{~cuuint64_t{0}, chunk + mega};  // two chunks
  test_stream s;
  const CUdeviceptr a = pool.allocate(chunk, s);
  CUdeviceptr b = 0;
  EXPECT_EQ(pool.try_allocate(&b, chunk + 512, s), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(b, 0u);
  release(a, s);
  // What is idle makes room for another size.
  EXPECT_EQ(pool.try_allocate(&b, chunk + 512, s), CUDA_SUCCESS);
  release(b, s);
  s.synchronize();
}

// A device that is full of idle blocks is not full.
TEST_F(Pool, IdleMemoryOfAnyPoolMakesRoom) {
  test_pool idle;
  test_stream s;
  leave(chunk + mega);
  release(idle.allocate(3 * mega, s), s);
  s.synchronize();
  EXPECT_EQ(idle.reserved(), chunk);
  CUdeviceptr plain = 0;
  EXPECT_EQ(driver.cuMemAlloc_v2(&plain, 4 * mega), CUDA_SUCCESS);
  EXPECT_EQ(idle.reserved(), 0u);
  EXPECT_EQ(driver.cuMemFree_v2(plain), CUDA_SUCCESS);
}

// A stream that frees and allocates in turn needs the memory of one step only, whatever the sizes, although the host is
// far ahead of it.
TEST_F(Pool, AStreamMakesRoomForItself) {
  test_pool pool;
  test_stream s;
  leave(chunk + mega);
  {
    held gate{s};
    for (std::size_t i = 0; i < 40; ++i) {
      const CUdeviceptr block = pool.allocate(chunk - 2 * mega + i * 20'000, s);
      EXPECT_EQ(driver.cuMemsetD8Async(block, static_cast<unsigned char>(i), mega, s), CUDA_SUCCESS);
      release(block, s);
    }
    gate.open();
  }
  s.synchronize();
}

// With nothing else left, an allocation is given what another stream is about to free, and waits for it in order.
TEST_F(Pool, AStreamMayWaitForAnothersBlock) {
  test_pool pool;
  test_stream s;
  test_stream t;
  const pinned_block result{8};
  leave(chunk);
  {
    held gate{s};
    const CUdeviceptr block = pool.allocate(chunk, s);
    EXPECT_EQ(driver.cuMemsetD32Async(block, 1, 1, s), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuMemcpyDtoHAsync_v2(result.get(), block, 4, s), CUDA_SUCCESS);
    release(block, s);
    CUdeviceptr again = 0;
    pool.set(CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES, 0);
    EXPECT_EQ(pool.try_allocate(&again, chunk, t), CUDA_ERROR_OUT_OF_MEMORY);
    pool.set(CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES, 1);
    EXPECT_EQ(pool.try_allocate(&again, chunk, t), CUDA_SUCCESS);
    EXPECT_EQ(again, block);
    EXPECT_EQ(driver.cuMemsetD32Async(again, 2, 1, t), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuStreamQuery(t), CUDA_ERROR_NOT_READY);
    release(again, t);
    gate.open();
  }
  s.synchronize();
  t.synchronize();
  EXPECT_EQ(words_at(result.address())[0], 1u);
}

// A stream that has waited for a free by an event gets the block, though neither has come so far; one that has waited for an event
// before the free does not, nor does any where the pool does not follow events.
TEST_F(Pool, AStreamFollowsTheEventsThatItWaitedFor) {
  test_pool pool;
  test_stream s;
  test_stream through;
  test_stream t;
  CUevent before = nullptr;
  CUevent event = nullptr;
  ASSERT_EQ(driver.cuEventCreate(&before, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
  const CUdeviceptr block = pool.allocate(mega, s);
  CUdeviceptr other = 0;
  {
    held gate{s};
    EXPECT_EQ(driver.cuEventRecord(before, s), CUDA_SUCCESS);
    release(block, s);
    EXPECT_EQ(driver.cuStreamWaitEvent(t, before, 0), CUDA_SUCCESS);
    other = pool.allocate(mega, t);
    EXPECT_NE(other, block);
    EXPECT_EQ(driver.cuEventRecord(event, s), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuStreamWaitEvent(through, event, 0), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuEventRecord(event, through), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuStreamWaitEvent(t, event, 0), CUDA_SUCCESS);
    pool.set(CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES, 0);
    const CUdeviceptr third = pool.allocate(mega, t);
    EXPECT_NE(third, block);
    release(third, s);
    pool.set(CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES, 1);
    EXPECT_EQ(pool.allocate(mega, t), block);
    gate.open();
  }
  release(block, t);
  release(other, t);
  t.synchronize();
  s.synchronize();
  EXPECT_EQ(driver.cuEventDestroy_v2(before), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuEventDestroy_v2(event), CUDA_SUCCESS);
}

// What was freed is cut up for smaller blocks, and joined again for a larger one.
TEST_F(Pool, CutsBlocksUpAndJoinsThem) {
  test_pool pool;
  test_stream s;
  const CUdeviceptr all = pool.allocate(chunk, s);
  release(all, s);
  std::vector<CUdeviceptr> parts;
  for (std::size_t i = 0; i < 4; ++i) {
    parts.push_back(pool.allocate(chunk / 4, s));
    EXPECT_EQ(parts.back(), all + i * chunk / 4 * model::pool_spread);
  }
  release(parts[1], s);
  release(parts[2], s);
  EXPECT_EQ(pool.allocate(chunk / 2, s), parts[1]);
  EXPECT_EQ(pool.reserved(), chunk);
  release(parts[1], s);
  release(parts[0], s);
  release(parts[3], s);
  EXPECT_EQ(pool.allocate(chunk, s), all);
  EXPECT_EQ(pool.reserved(), chunk);
  release(all, s);
  s.synchronize();
}

// Chunks go back one by one, as soon as no block reaches into them; what is larger than one begins in the last one's rest.
TEST_F(Pool, GivesChunksBackFromUnderItsBlocks) {
  test_pool pool{0};
  test_stream s;
  const CUdeviceptr a = pool.allocate(chunk / 8 * 5, s);
  const CUdeviceptr b = pool.allocate(chunk / 8 * 5, s);
  const CUdeviceptr c = pool.allocate(chunk / 8 * 5, s);
  EXPECT_EQ(b, a + chunk / 8 * 5 * model::pool_spread);
  EXPECT_EQ(c, b + chunk / 8 * 5 * model::pool_spread);
  EXPECT_EQ(pool.reserved(), 2 * chunk);
  release(a, s);
  s.synchronize();
  EXPECT_EQ(pool.reserved(), 2 * chunk);
  release(b, s);
  s.synchronize();
  EXPECT_EQ(pool.reserved(), chunk);
  EXPECT_EQ(driver.cuMemsetD8Async(c, 1, chunk / 8 * 5, s), CUDA_SUCCESS);
  release(c, s);
  s.synchronize();
  EXPECT_EQ(pool.reserved(), 0u);
}

// Streams that allocate, write, read and free at random, far ahead of the device, each find in a block what they wrote
// there: nobody else had it meanwhile.
RC_GTEST_FIXTURE_PROP(Pool, NoBlockIsSharedByWorkThatMayOverlap, ()) {
  struct owned {
    CUdeviceptr address;
    std::size_t words;
    std::uint32_t tag;
    std::size_t stream;
  };
  constexpr std::size_t most_reads = 200;
  test_pool pool{*rc::gen::element<cuuint64_t>(0, mega, ~cuuint64_t{0})};
  const std::vector<std::unique_ptr<test_stream>> streams = [] {
    std::vector<std::unique_ptr<test_stream>> made;
    for (int i = 0; i < 3; ++i) made.push_back(std::make_unique<test_stream>());
    return made;
  }();
  const pinned_block results{most_reads * 2 * sizeof(std::uint32_t)};
  std::vector<std::uint32_t> tags;
  std::vector<owned> live;

  // The first and the last word of a block, as they are when its owner comes to its end.
  const auto read_and_free = [&](std::size_t i) {
    const owned block = live[i];
    const CUstream s = *streams[block.stream];
    const CUdeviceptr out = results.address() + tags.size() * 2 * sizeof(std::uint32_t);
    RC_ASSERT(driver.cuMemcpyAsync(out, block.address, 4, s) == CUDA_SUCCESS);
    RC_ASSERT(driver.cuMemcpyAsync(out + 4, block.address + (block.words - 1) * 4, 4, s) == CUDA_SUCCESS);
    RC_ASSERT(driver.cuMemFreeAsync(block.address, s) == CUDA_SUCCESS);
    tags.push_back(block.tag);
    live.erase(live.begin() + static_cast<std::ptrdiff_t>(i));
  };

  const auto count = *rc::gen::inRange<std::uint32_t>(1, most_reads);
  for (std::uint32_t tag = 1; tag <= count; ++tag) {
    if (!live.empty() && *rc::gen::arbitrary<bool>()) read_and_free(*rc::gen::inRange<std::size_t>(0, live.size()));
    const std::size_t stream = *rc::gen::inRange<std::size_t>(0, streams.size());
    const std::size_t words = *rc::gen::element<std::size_t>(1, 100, 128, 3000, 70000);
    const CUdeviceptr address = pool.allocate(words * 4, *streams[stream]);
    RC_ASSERT(driver.cuMemsetD32Async(address, tag, words, *streams[stream]) == CUDA_SUCCESS);
    live.push_back({address, words, tag, stream});
    if (*rc::gen::inRange(0, 10) == 0) streams[stream]->synchronize();
  }
  while (!live.empty()) read_and_free(live.size() - 1);
  for (const auto& s : streams) s->synchronize();
  for (std::size_t i = 0; i < tags.size(); ++i) {
    RC_ASSERT(words_at(results.address())[2 * i] == tags[i]);
    RC_ASSERT(words_at(results.address())[2 * i + 1] == tags[i]);
  }
  RC_ASSERT(pool.used() == 0u);
}

// All that there could be is kept: the sum with a chunk is more than there are numbers.
TEST_F(Pool, KeepsAllWhenItIsToKeepMoreThanThereIs) {
  test_pool pool;
  test_stream s;
  release(pool.allocate(mega, s), s);
  s.synchronize();
  pool.trim(~std::size_t{0} - 32 * mega + 1);
  EXPECT_EQ(pool.reserved(), chunk);
}

// Who found a pool before another thread ended it gets nothing of it, nor of the next one that is made there.
TEST_F(Pool, GivesNothingAfterItsEnd) {
  test_stream s;
  model::stream& by = *model::this_process().streams.find(CUstream{s});
  auto ended = std::make_unique<test_pool>();
  const model::pool_registry::living_pool found = model::pool_registry::find_living(ended->handle());
  ended->destroy();
  CUdeviceptr address = 0;
  EXPECT_EQ(found.pool->allocate(mega, by, found.life, &address), CUDA_ERROR_INVALID_VALUE);
  const test_pool next;
  ASSERT_EQ(model::pool_registry::find(next.handle()), found.pool);
  EXPECT_EQ(found.pool->allocate(mega, by, found.life, &address), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Pool, OneThatEndsWhileItIsCurrentIsReplaced) {
  CUmemoryPool own = nullptr;
  ASSERT_EQ(driver.cuDeviceGetDefaultMemPool(&own, 0), CUDA_SUCCESS);
  std::atomic<bool> over{false};
  std::thread other{[&, context = current_context()] {
    EXPECT_EQ(driver.cuCtxSetCurrent(context), CUDA_SUCCESS);
    const test_stream s;
    while (!over.load()) {
      CUdeviceptr address = 0;
      EXPECT_EQ(driver.cuMemAllocAsync(&address, mega, s), CUDA_SUCCESS);
      EXPECT_EQ(driver.cuMemFreeAsync(address, s), CUDA_SUCCESS);
    }
    s.synchronize();
    model::this_thread().stack.clear();
  }};
  for (int round = 0; round < 500; ++round) {
    const test_pool pool{0};
    EXPECT_EQ(driver.cuDeviceSetMemPool(0, pool.handle()), CUDA_SUCCESS);
  }
  over.store(true);
  other.join();
  CUmemoryPool current = nullptr;
  EXPECT_EQ(driver.cuDeviceGetMemPool(&current, 0), CUDA_SUCCESS);
  EXPECT_EQ(current, own);
}

}  // namespace
}  // namespace weir::embedded
