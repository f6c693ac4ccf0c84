// SPDX-License-Identifier: Apache-2.0
// value_wait_test.cpp - waits for values end when other streams write them, by any kind of write.

#include <algorithm>
#include <functional>
#include <vector>

#include "embedded/engine/pending_value_writes.hpp"
#include "value_fixture.hpp"

namespace weir::embedded {
namespace {

constexpr std::uint32_t rounds = 200;

class ValueWait : public value_test {};

// Two streams alternate: each waits for the next value that the other writes. One of them uses the
// given kind of write.
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

TEST_F(ValueWait, AWriteEndsTheWait) { hand_over(write); }

TEST_F(ValueWait, AWriteOf64BitsEndsTheWait) {
  hand_over([](CUstream s, CUdeviceptr word, std::uint32_t value) {
    return driver.cuStreamWriteValue64_v2(s, word, value, 0);
  });
}

TEST_F(ValueWait, ABatchEndsTheWait) {
  hand_over([](CUstream s, CUdeviceptr word, std::uint32_t value) {
    CUstreamBatchMemOpParams ops[2]{};
    ops[0].writeValue.operation = ops[1].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    ops[0].writeValue.address = word + 16;
    ops[1].writeValue.address = word;
    ops[1].writeValue.value = value;
    return driver.cuStreamBatchMemOp_v2(s, 2, ops, 0);
  });
}

TEST_F(ValueWait, ASetEndsTheWait) {
  hand_over([](CUstream s, CUdeviceptr word, std::uint32_t value) {
    return driver.cuMemsetD32Async(word, value, 1, s);
  });
}

TEST_F(ValueWait, ASetOfSeveralWordsEndsTheWait) {
  hand_over([](CUstream s, CUdeviceptr word, std::uint32_t value) {
    return driver.cuMemsetD32Async(word, value, 3, s);
  });
}

TEST_F(ValueWait, ACopyEndsTheWait) {
  const pinned_block values{(rounds + 1) * sizeof(std::uint32_t)};
  for (std::uint32_t i = 0; i <= rounds; ++i) words_at(values.address())[i] = i;
  hand_over([&](CUstream s, CUdeviceptr word, std::uint32_t value) {
    return driver.cuMemcpyDtoDAsync_v2(word, values.address() + value * sizeof(std::uint32_t),
                                       sizeof value, s);
  });
}

TEST_F(ValueWait, AHostFunctionEndsTheWait) {
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

TEST_F(ValueWait, AHostStoreEndsTheWait) {
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

// Many streams wait for one word, each for its own value, and for words in one cache line.
TEST_F(ValueWait, EachStreamContinuesAtItsOwnValue) {
  constexpr std::uint32_t streams = 20;
  const pinned_block words{64};
  const pinned_block seen{streams * sizeof(std::uint32_t)};
  const CUdeviceptr word = words.address();
  words_at(word)[0] = words_at(word)[1] = 0;
  std::vector<std::unique_ptr<test_stream>> waiting;
  for (std::uint32_t i = 0; i < streams; ++i) {
    words_at(seen.address())[i] = 0;
    const CUstream s = *waiting.emplace_back(std::make_unique<test_stream>());
    ASSERT_EQ(driver.cuStreamWaitValue32_v2(s, word + i % 2 * 4, i + 1, CU_STREAM_WAIT_VALUE_GEQ),
              CUDA_SUCCESS);
    ASSERT_EQ(driver.cuMemsetD32Async(seen.address() + i * sizeof(std::uint32_t), 1, 1, s),
              CUDA_SUCCESS);
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

// Streams that wait in a circle block until the host writes; a thread that synchronizes with them
// notices the write.
TEST_F(ValueWait, ACircularWaitEndsWhenTheHostWrites) {
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

// The driver keeps the last write of each word, and no entry for words without writers.
TEST_F(ValueWait, TheLastWriterOfAWordIsRecorded) {
  std::uint32_t word = 0;
  std::uint32_t unwritten = 0;
  engine::timeline& line = engine::timeline::acquire();
  engine::pending_value_writes::record(&word, {&line, 7});
  engine::pending_value_writes::record(&word, {&line, 9});
  EXPECT_EQ(engine::pending_value_writes::last_write(&word).line, &line);
  EXPECT_EQ(engine::pending_value_writes::last_write(&word).count, 9u);
  EXPECT_EQ(engine::pending_value_writes::last_write(&unwritten).line, nullptr);
  line.release_when_drained();
}

}  // namespace
}  // namespace weir::embedded
