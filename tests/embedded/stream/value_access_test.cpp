// SPDX-License-Identifier: Apache-2.0
// value_access_test.cpp - words that streams may not read or write, and batches that cannot be
// submitted.
#include <sys/mman.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <vector>

#include "embedded/core/out_of_memory.hpp"
#include "support/fresh_process.hpp"
#include "value_fixture.hpp"

namespace weir::embedded {
namespace {

class ValueAccess : public value_test {};

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

// Memory in its own reserved range; streams need access to use it.
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

// Creates a Thing that is never destroyed, because nothing can be freed after a device failure.
template <class Thing, class... Args>
Thing& made_for_good(Args... args) {
  static auto& all = *new std::vector<std::unique_ptr<Thing>>;
  return *all.emplace_back(std::make_unique<Thing>(args...));
}

// The work fails the device, which is permanent for the process, and nothing behind it runs.
// `submit` gets a blocked stream and the address of a word that is written behind.
void expect_failure(const std::function<bool(CUstream, CUdeviceptr)>& submit) {
  test::in_a_fresh_process([&] {
    const auto& s = made_for_good<test_stream>();
    const auto& behind = made_for_good<pinned_block>(std::size_t{4});
    const auto& gate = made_for_good<pinned_block>(std::size_t{4});
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

// Launches a graph of that operation and, behind it, a write of the word.
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

TEST_F(ValueAccess, AWaitNeedsReadAccessOnly) {
  const read_only_word registered;
  const mapped_word mapped;
  mapped.let(CU_MEM_ACCESS_FLAGS_PROT_READ);
  const test_stream s;
  EXPECT_EQ(wait(s, registered.address(), 0), CUDA_SUCCESS);
  EXPECT_EQ(wait(s, mapped.address(), 0), CUDA_SUCCESS);
  s.synchronize();
}

TEST_F(ValueAccess, AWriteToReadOnlyMemoryFailsTheDevice) {
  expect_failure([](CUstream s, CUdeviceptr) {
    return write(s, made_for_good<read_only_word>().address(), 1) == CUDA_SUCCESS;
  });
}

TEST_F(ValueAccess, ABatchThatMayNotWriteFailsTheDevice) {
  expect_failure([](CUstream s, CUdeviceptr behind) {
    const auto& word = made_for_good<mapped_word>();
    word.let(CU_MEM_ACCESS_FLAGS_PROT_READ);
    CUstreamBatchMemOpParams ops[2]{write_of(word.address(), 1), write_of(behind, 1)};
    return driver.cuStreamBatchMemOp_v2(s, 2, ops, 0) == CUDA_SUCCESS;
  });
}

TEST_F(ValueAccess, ANodeThatMayNotWriteFailsTheDevice) {
  expect_failure([](CUstream s, CUdeviceptr behind) {
    return launch(s, write_of(made_for_good<read_only_word>().address(), 1), behind);
  });
}

TEST_F(ValueAccess, ANodeThatMayNotReadFailsTheDevice) {
  expect_failure([](CUstream s, CUdeviceptr behind) {
    CUstreamBatchMemOpParams op{};
    op.waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
    op.waitValue.address = made_for_good<mapped_word>().address();
    return launch(s, op, behind);
  });
}

// A node may name words that calls refuse, but a launch fails until the node's parameters change.
TEST_F(ValueAccess, ALaunchRefusesWordsInManagedOrPooledMemory) {
  const test_stream s;
  CUcontext context = nullptr;
  ASSERT_EQ(driver.cuCtxGetCurrent(&context), CUDA_SUCCESS);
  CUdeviceptr managed = 0;
  CUdeviceptr pooled = 0;
  CUdeviceptr plain = 0;
  ASSERT_EQ(driver.cuMemAllocManaged(&managed, 4, CU_MEM_ATTACH_GLOBAL), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuMemAllocAsync(&pooled, 4, s), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuMemAlloc_v2(&plain, 4), CUDA_SUCCESS);
  s.synchronize();
  for (const CUdeviceptr word : {managed, pooled}) {
    CUstreamBatchMemOpParams op = write_of(word, 7);
    const CUDA_BATCH_MEM_OP_NODE_PARAMS params{context, 1, &op, 0};
    CUgraph graph = nullptr;
    CUgraphNode node = nullptr;
    CUgraphExec exec = nullptr;
    ASSERT_EQ(driver.cuGraphCreate(&graph, 0), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuGraphAddBatchMemOpNode(&node, graph, nullptr, 0, &params), CUDA_SUCCESS);
    ASSERT_EQ(driver.cuGraphInstantiateWithFlags(&exec, graph, 0), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuGraphLaunch(exec, s), CUDA_ERROR_INVALID_VALUE);
    s.synchronize();
    op = write_of(plain, 7);
    EXPECT_EQ(driver.cuGraphExecBatchMemOpNodeSetParams(exec, node, &params), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuGraphLaunch(exec, s), CUDA_SUCCESS);
    s.synchronize();
    EXPECT_EQ(driver.cuGraphExecDestroy(exec), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuGraphDestroy(graph), CUDA_SUCCESS);
  }
  EXPECT_EQ(driver.cuMemFree_v2(managed), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemFree_v2(pooled), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemFree_v2(plain), CUDA_SUCCESS);
}

// Access of a write is checked when it runs.
TEST_F(ValueAccess, AMappingNeedsAccessForValueOperations) {
  const mapped_word word;
  const test_stream s;
  EXPECT_EQ(wait(s, word.address(), 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(write(s, word.address(), 1), CUDA_ERROR_INVALID_VALUE);
  word.let(CU_MEM_ACCESS_FLAGS_PROT_READ);
  {
    const stream_gate gate{s};
    EXPECT_EQ(wait(s, word.address(), 0), CUDA_SUCCESS);
    EXPECT_EQ(write(s, word.address(), 1), CUDA_SUCCESS);
    word.let(CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  }
  EXPECT_EQ(wait(s, word.address(), 1), CUDA_SUCCESS);
  EXPECT_EQ(write(s, word.address(), 2), CUDA_SUCCESS);
  s.synchronize();
  EXPECT_EQ(words_at(word.address())[0], 2u);
}

// Each batch increments every word if there is room for all of its operations. A partly submitted
// batch would block the stream, or count twice.
TEST_F(ValueAccess, ABatchThatRunsOutOfMemoryDoesNothing) {
  constexpr std::size_t words = 200;
  const pinned_block memory{4 * words};
  std::uint32_t* const word = words_at(memory.address());
  std::fill_n(word, words, 0u);
  const test_stream s;
  stream_gate gate{s};
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
    const CUresult status =
        driver.cuStreamBatchMemOp_v2(s, static_cast<unsigned>(ops.size()), ops.data(), 0);
    ASSERT_TRUE(status == CUDA_SUCCESS || status == CUDA_ERROR_OUT_OF_MEMORY);
    if (status == CUDA_SUCCESS) ++submitted;
  }
  gate.open();
  s.synchronize();
  for (std::size_t i = 0; i < words; ++i) ASSERT_EQ(word[i], submitted) << i;
}

}  // namespace
}  // namespace weir::embedded
