// value_wait_test.cpp - streams that wait for values go on when other streams write them, in whatever way; and words that
// streams may not read or write.
#include <sys/mman.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "embedded/engine/value_writers.hpp"
#include "embedded/engine/written.hpp"
#include "memory_fixture.hpp"
#include "out_of_memory.hpp"
#include "support/child.hpp"

namespace weir::embedded {
namespace {

constexpr std::uint32_t rounds = 200;

class ValueWait : public memory_test {
 protected:
  void TearDown() override {
    EXPECT_EQ(driver.cuCtxSynchronize(), CUDA_SUCCESS);
    EXPECT_EQ(engine::waiting_for_values.load(), 0u);
    memory_test::TearDown();
  }
};

CUresult wait(CUstream stream, CUdeviceptr word, std::uint32_t value) {
  return driver.cuStreamWaitValue32_v2(stream, word, value, CU_STREAM_WAIT_VALUE_EQ);
}
CUresult write(CUstream stream, CUdeviceptr word, std::uint32_t value) {
  return driver.cuStreamWriteValue32_v2(stream, word, value, 0);
}

// Two streams hand over to each other, one of them in some way of writing the word. Each waits for what the other writes next.
void hand_over(const std::function<CUresult(CUstream, CUdeviceptr, std::uint32_t)>& put) {
  test_stream s;
  test_stream t;
  const pinned_block words{64};
  const CUdeviceptr there = words.address();
  const CUdeviceptr back = words.address() + 32;
  words_at(there)[0] = words_at(back)[0] = 0;
  for (std::uint32_t i = 1; i <= rounds; ++i) {
    ASSERT_EQ(put(s, there, i), CUDA_SUCCESS);
    ASSERT_EQ(wait(t, there, i), CUDA_SUCCESS);
    ASSERT_EQ(write(t, back, i), CUDA_SUCCESS);
    ASSERT_EQ(wait(s, back, i), CUDA_SUCCESS);
  }
  s.synchronize();
  t.synchronize();
  EXPECT_EQ(words_at(there)[0], rounds);
  EXPECT_EQ(words_at(back)[0], rounds);
}

TEST_F(ValueWait, EndsByAWrite) { hand_over(write); }

TEST_F(ValueWait, EndsByAWriteOf64Bits) {
  hand_over([](CUstream s, CUdeviceptr word, std::uint32_t value) {
    return driver.cuStreamWriteValue64_v2(s, word, value, 0);
  });
}

TEST_F(ValueWait, EndsByABatch) {
  hand_over([](CUstream s, CUdeviceptr word, std::uint32_t value) {
    CUstreamBatchMemOpParams ops[2]{};
    ops[0].writeValue.operation = ops[1].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    ops[0].writeValue.address = word + 16;
    ops[1].writeValue.address = word;
    ops[1].writeValue.value = value;
    return driver.cuStreamBatchMemOp_v2(s, 2, ops, 0);
  });
}

TEST_F(ValueWait, EndsByASet) {
  hand_over(
      [](CUstream s, CUdeviceptr word, std::uint32_t value) { return driver.cuMemsetD32Async(word, value, 1, s); });
}

TEST_F(ValueWait, EndsByASetOfMore) {
  hand_over(
      [](CUstream s, CUdeviceptr word, std::uint32_t value) { return driver.cuMemsetD32Async(word, value, 3, s); });
}

TEST_F(ValueWait, EndsByACopy) {
  const pinned_block values{(rounds + 1) * sizeof(std::uint32_t)};
  for (std::uint32_t i = 0; i <= rounds; ++i) words_at(values.address())[i] = i;
  hand_over([&](CUstream s, CUdeviceptr word, std::uint32_t value) {
    return driver.cuMemcpyDtoDAsync_v2(word, values.address() + value * sizeof(std::uint32_t), sizeof value, s);
  });
}

TEST_F(ValueWait, EndsByAHostFunction) {
  struct call {
    std::uint32_t* word;
    std::uint32_t value;
  };
  std::vector<call> calls(rounds + 1);
  hand_over([&](CUstream s, CUdeviceptr word, std::uint32_t value) {
    calls[value] = {words_at(word), value};
    constexpr auto run = [](void* data) {
      const auto* c = static_cast<call*>(data);
      std::atomic_ref{*c->word}.store(c->value);
    };
    return driver.cuLaunchHostFunc(s, run, &calls[value]);
  });
}

TEST_F(ValueWait, EndsByTheHost) {
  test_stream s;
  const pinned_block words{64};
  words_at(words.address())[0] = 0;
  const std::atomic_ref word{words_at(words.address())[0]};
  for (std::uint32_t i = 1; i <= 20; ++i) {
    ASSERT_EQ(wait(s, words.address(), i), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuStreamQuery(s), CUDA_ERROR_NOT_READY);
    word.store(i);
    s.synchronize();
  }
}

// Many wait for one word, each for a value of its own, and for words that share a cache line.
TEST_F(ValueWait, EachGoesOnAtItsOwnValue) {
  constexpr std::uint32_t streams = 20;
  const pinned_block words{64};
  const pinned_block seen{streams * sizeof(std::uint32_t)};
  const CUdeviceptr word = words.address();
  words_at(word)[0] = words_at(word)[1] = 0;
  std::vector<std::unique_ptr<test_stream>> waiting;
  for (std::uint32_t i = 0; i < streams; ++i) {
    words_at(seen.address())[i] = 0;
    const CUstream s = *waiting.emplace_back(std::make_unique<test_stream>());
    ASSERT_EQ(driver.cuStreamWaitValue32_v2(s, word + i % 2 * 4, i + 1, CU_STREAM_WAIT_VALUE_GEQ), CUDA_SUCCESS);
    ASSERT_EQ(driver.cuMemsetD32Async(seen.address() + i * sizeof(std::uint32_t), 1, 1, s), CUDA_SUCCESS);
  }
  test_stream writer;
  for (std::uint32_t i = 0; i < streams; ++i) {
    ASSERT_EQ(write(writer, word + i % 2 * 4, i + 1), CUDA_SUCCESS);
    waiting[i]->synchronize();
    EXPECT_EQ(words_at(seen.address())[i], 1u);
    if (i + 1 < streams) {
      EXPECT_EQ(driver.cuStreamQuery(*waiting[i + 1]), CUDA_ERROR_NOT_READY);
    }
  }
}

// Streams that wait for each other in a circle stand still until the host writes, and a thread that waits for them finds out.
TEST_F(ValueWait, ACircleStandsUntilTheHostBreaksIt) {
  test_stream s;
  test_stream t;
  const pinned_block words{64};
  const CUdeviceptr one = words.address();
  const CUdeviceptr other = words.address() + 32;
  words_at(one)[0] = words_at(other)[0] = 0;
  ASSERT_EQ(driver.cuStreamWaitValue32_v2(s, one, 1, CU_STREAM_WAIT_VALUE_GEQ), CUDA_SUCCESS);
  ASSERT_EQ(write(s, other, 1), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuStreamWaitValue32_v2(t, other, 1, CU_STREAM_WAIT_VALUE_GEQ), CUDA_SUCCESS);
  ASSERT_EQ(write(t, one, 2), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuStreamQuery(s), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(driver.cuStreamQuery(t), CUDA_ERROR_NOT_READY);
  std::atomic_ref{words_at(one)[0]}.store(1);
  s.synchronize();
  t.synchronize();
  EXPECT_EQ(words_at(one)[0], 2u);
}

// What is kept of the writers of words is the last write to each, and nothing of words that nobody writes.
TEST_F(ValueWait, TheLastWriterOfAWordIsKnown) {
  std::uint32_t word = 0;
  std::uint32_t unwritten = 0;
  engine::timeline& line = engine::timeline::acquire();
  engine::value_writers::submitted(&word, {&line, 7});
  engine::value_writers::submitted(&word, {&line, 9});
  EXPECT_EQ(engine::value_writers::last_of(&word).line, &line);
  EXPECT_EQ(engine::value_writers::last_of(&word).count, 9u);
  EXPECT_EQ(engine::value_writers::last_of(&unwritten).line, nullptr);
  line.release_when_drained();
}

// Memory that streams may only read.
class read_only_word {
 public:
  read_only_word() : page_{mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)} {
    EXPECT_EQ(driver.cuMemHostRegister_v2(page_, 4096, CU_MEMHOSTREGISTER_READ_ONLY), CUDA_SUCCESS);
  }
  read_only_word(const read_only_word&) = delete;
  read_only_word& operator=(const read_only_word&) = delete;
  ~read_only_word() {
    EXPECT_EQ(driver.cuMemHostUnregister(page_), CUDA_SUCCESS);
    munmap(page_, 4096);
  }
  [[nodiscard]] CUdeviceptr address() const { return address_of(page_); }

 private:
  void* page_;
};

// Memory in a range of its own; streams may not touch it until they are let.
class mapped_word {
 public:
  mapped_word() {
    wanted_.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    wanted_.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    EXPECT_EQ(driver.cuMemCreate(&memory_, bytes, &wanted_, 0), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuMemAddressReserve(&at_, bytes, 0, 0, 0), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuMemMap(at_, bytes, 0, memory_, 0), CUDA_SUCCESS);
  }
  mapped_word(const mapped_word&) = delete;
  mapped_word& operator=(const mapped_word&) = delete;
  ~mapped_word() {
    EXPECT_EQ(driver.cuMemUnmap(at_, bytes), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuMemAddressFree(at_, bytes), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuMemRelease(memory_), CUDA_SUCCESS);
  }

  void let(CUmemAccess_flags use) const {
    const CUmemAccessDesc access{wanted_.location, use};
    EXPECT_EQ(driver.cuMemSetAccess(at_, bytes, &access, 1), CUDA_SUCCESS);
  }
  [[nodiscard]] CUdeviceptr address() const { return at_; }

 private:
  static constexpr std::size_t bytes = std::size_t{2} << 20;
  CUmemAllocationProp wanted_{};
  CUmemGenericAllocationHandle memory_ = 0;
  CUdeviceptr at_ = 0;
};

CUstreamBatchMemOpParams write_of(CUdeviceptr word, std::uint32_t value) {
  CUstreamBatchMemOpParams op{};
  op.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
  op.writeValue.address = word;
  op.writeValue.value = value;
  return op;
}

// The work fails the device, which a process can do only once, and nothing behind it is done. `submit` gets a stream that stands still,
// and a word that is written behind: both are there until the process ends, because nothing can be given back after a failure.
void expect_failure(const std::function<bool(CUstream, CUdeviceptr)>& submit) {
  test::in_a_fresh_process([&] {
    const auto& s = *new test_stream;
    const auto& behind = *new pinned_block{4};
    const auto& gate = *new pinned_block{4};
    words_at(behind.address())[0] = words_at(gate.address())[0] = 0;
    const bool submitted = WEIR_HOLDS(wait(s, gate.address(), 1) == CUDA_SUCCESS) &&
                           WEIR_HOLDS(submit(s, behind.address())) &&
                           WEIR_HOLDS(write(s, behind.address(), 1) == CUDA_SUCCESS) &&
                           WEIR_HOLDS(driver.cuStreamQuery(s) == CUDA_ERROR_NOT_READY);
    __atomic_store_n(words_at(gate.address()), 1u, __ATOMIC_RELEASE);
    return submitted && WEIR_HOLDS(driver.cuStreamSynchronize(s) == CUDA_ERROR_LAUNCH_FAILED) &&
           WEIR_HOLDS(driver.cuCtxSynchronize() == CUDA_ERROR_LAUNCH_FAILED) &&
           WEIR_HOLDS(write(s, behind.address(), 1) == CUDA_ERROR_LAUNCH_FAILED) &&
           WEIR_HOLDS(words_at(behind.address())[0] == 0);
  });
}

// A graph of that operation and, behind it, a write of the word.
bool launch(CUstream s, CUstreamBatchMemOpParams op, CUdeviceptr behind) {
  CUgraph graph = nullptr;
  CUgraphNode first = nullptr;
  CUgraphNode second = nullptr;
  CUgraphExec exec = nullptr;
  CUcontext context = nullptr;
  if (driver.cuCtxGetCurrent(&context) != CUDA_SUCCESS) return false;
  const CUDA_BATCH_MEM_OP_NODE_PARAMS params{context, 1, &op, 0};
  const CUDA_MEMSET_NODE_PARAMS set{behind, 0, 1, 4, 1, 1};
  return driver.cuGraphCreate(&graph, 0) == CUDA_SUCCESS &&
         driver.cuGraphAddBatchMemOpNode(&first, graph, nullptr, 0, &params) == CUDA_SUCCESS &&
         driver.cuGraphAddMemsetNode(&second, graph, &first, 1, &set, context) == CUDA_SUCCESS &&
         driver.cuGraphInstantiateWithFlags(&exec, graph, 0) == CUDA_SUCCESS &&
         driver.cuGraphLaunch(exec, s) == CUDA_SUCCESS;
}

TEST_F(ValueWait, WhatMayOnlyBeReadIsAwaited) {
  const read_only_word registered;
  const mapped_word mapped;
  mapped.let(CU_MEM_ACCESS_FLAGS_PROT_READ);
  const test_stream s;
  EXPECT_EQ(wait(s, registered.address(), 0), CUDA_SUCCESS);
  EXPECT_EQ(wait(s, mapped.address(), 0), CUDA_SUCCESS);
  s.synchronize();
}

TEST_F(ValueWait, AWriteOfWhatMayOnlyBeReadFailsTheDevice) {
  expect_failure([](CUstream s, CUdeviceptr) { return write(s, (new read_only_word)->address(), 1) == CUDA_SUCCESS; });
}

TEST_F(ValueWait, ABatchFailsTheDeviceWhereItMayNotWrite) {
  expect_failure([](CUstream s, CUdeviceptr behind) {
    const auto& word = *new mapped_word;
    word.let(CU_MEM_ACCESS_FLAGS_PROT_READ);
    CUstreamBatchMemOpParams ops[2]{write_of(word.address(), 1), write_of(behind, 1)};
    return driver.cuStreamBatchMemOp_v2(s, 2, ops, 0) == CUDA_SUCCESS;
  });
}

TEST_F(ValueWait, ANodeThatMayNotWriteFailsTheDevice) {
  expect_failure(
      [](CUstream s, CUdeviceptr behind) { return launch(s, write_of((new read_only_word)->address(), 1), behind); });
}

TEST_F(ValueWait, ANodeThatMayNotReadFailsTheDevice) {
  expect_failure([](CUstream s, CUdeviceptr behind) {
    CUstreamBatchMemOpParams op{};
    op.waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
    op.waitValue.address = (new mapped_word)->address();
    return launch(s, op, behind);
  });
}

// Whether a write may be done is asked when it runs.
TEST_F(ValueWait, AMappingHasWordsOnceStreamsMayUseIt) {
  const mapped_word word;
  const test_stream s;
  EXPECT_EQ(wait(s, word.address(), 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(write(s, word.address(), 1), CUDA_ERROR_INVALID_VALUE);
  word.let(CU_MEM_ACCESS_FLAGS_PROT_READ);
  {
    const held gate{s};
    EXPECT_EQ(wait(s, word.address(), 0), CUDA_SUCCESS);
    EXPECT_EQ(write(s, word.address(), 1), CUDA_SUCCESS);
    word.let(CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  }
  EXPECT_EQ(wait(s, word.address(), 1), CUDA_SUCCESS);
  EXPECT_EQ(write(s, word.address(), 2), CUDA_SUCCESS);
  s.synchronize();
  EXPECT_EQ(words_at(word.address())[0], 2u);
}

// Each batch counts every word up by one, if it finds room for all of its operations; what is left of one that did not would hold the
// stream, or count twice.
TEST_F(ValueWait, ABatchThatRunsOutOfMemoryDoesNothing) {
  constexpr std::size_t words = 200;
  const pinned_block memory{4 * words};
  std::uint32_t* const word = words_at(memory.address());
  std::fill_n(word, words, 0u);
  const test_stream s;
  held gate{s};
  const auto batch_of = [&](std::uint32_t value) {
    std::vector<CUstreamBatchMemOpParams> ops(words + 1);
    const std::size_t waits = value % 2 == 0 ? 0 : words;  // first or last
    for (std::size_t i = 0; i < words; ++i) {
      CUstreamBatchMemOpParams& op = ops[i < waits ? i : i + 1];
      op.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
      op.writeValue.address = memory.address() + 4 * i;
      op.writeValue.value = value;
    }
    ops[waits].waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
    ops[waits].waitValue.address = memory.address();
    ops[waits].waitValue.value = waits == 0 ? value - 1 : value;
    ops[waits].waitValue.flags = CU_STREAM_WAIT_VALUE_EQ;
    return ops;
  };
  std::uint32_t submitted = 0;
  for (int room = 0; submitted < 8; ++room) {
    std::vector<CUstreamBatchMemOpParams> ops = batch_of(submitted + 1);
    const out_of_memory after{room % 8};
    const CUresult status = driver.cuStreamBatchMemOp_v2(s, static_cast<unsigned>(ops.size()), ops.data(), 0);
    ASSERT_TRUE(status == CUDA_SUCCESS || status == CUDA_ERROR_OUT_OF_MEMORY);
    if (status == CUDA_SUCCESS) ++submitted;
  }
  gate.open();
  s.synchronize();
  for (std::size_t i = 0; i < words; ++i) ASSERT_EQ(word[i], submitted) << i;
}

}  // namespace
}  // namespace weir::embedded
