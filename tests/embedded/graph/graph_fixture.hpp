// SPDX-License-Identifier: Apache-2.0
// graph_fixture.hpp - graphs and executables for tests, and words of memory that show which nodes
// have run.
#pragma once

#include "embedded/memory/memory_fixture.hpp"

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace weir::embedded {

// A graph to add nodes to: owned by the test, or part of another graph.
class built_graph {
 public:
  explicit built_graph(CUgraph handle) : handle_{handle} {}

  operator CUgraph() const { return handle_; }

  using nodes = std::vector<CUgraphNode>;

  CUgraphNode add_empty(const nodes& behind = {}) const {
    CUgraphNode made = nullptr;
    EXPECT_EQ(driver.cuGraphAddEmptyNode(&made, handle_, behind.data(), behind.size()),
              CUDA_SUCCESS);
    return made;
  }
  CUgraphNode add_host(CUhostFn function, void* data, const nodes& behind = {}) const {
    const CUDA_HOST_NODE_PARAMS params{function, data};
    CUgraphNode made = nullptr;
    EXPECT_EQ(driver.cuGraphAddHostNode(&made, handle_, behind.data(), behind.size(), &params),
              CUDA_SUCCESS);
    return made;
  }
  CUgraphNode add_set(CUdeviceptr word, unsigned value, const nodes& behind = {}) const {
    const CUDA_MEMSET_NODE_PARAMS params{word, 0, value, 4, 1, 1};
    CUgraphNode made = nullptr;
    EXPECT_EQ(driver.cuGraphAddMemsetNode(&made, handle_, behind.data(), behind.size(), &params,
                                          current_context()),
              CUDA_SUCCESS);
    return made;
  }
  CUgraphNode add_copy(CUdeviceptr to, CUdeviceptr from, std::size_t bytes,
                       const nodes& behind = {}) const {
    CUDA_MEMCPY3D params{};
    params.srcMemoryType = CU_MEMORYTYPE_UNIFIED;
    params.srcDevice = from;
    params.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
    params.dstDevice = to;
    params.WidthInBytes = bytes;
    params.Height = 1;
    params.Depth = 1;
    CUgraphNode made = nullptr;
    EXPECT_EQ(driver.cuGraphAddMemcpyNode(&made, handle_, behind.data(), behind.size(), &params,
                                          current_context()),
              CUDA_SUCCESS);
    return made;
  }
  CUgraphNode add_word_copy(CUdeviceptr to, CUdeviceptr from, const nodes& behind = {}) const {
    return add_copy(to, from, sizeof(std::uint32_t), behind);
  }
  // Adds a node that waits until the word is 1.
  CUgraphNode add_wait(CUdeviceptr word, const nodes& behind = {}) const {
    CUstreamBatchMemOpParams wait{};
    wait.waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
    wait.waitValue.address = word;
    wait.waitValue.value = 1;
    wait.waitValue.flags = CU_STREAM_WAIT_VALUE_EQ;
    const CUDA_BATCH_MEM_OP_NODE_PARAMS params{current_context(), 1, &wait, 0};
    CUgraphNode made = nullptr;
    EXPECT_EQ(
        driver.cuGraphAddBatchMemOpNode(&made, handle_, behind.data(), behind.size(), &params),
        CUDA_SUCCESS);
    return made;
  }

  [[nodiscard]] std::size_t size() const {
    std::size_t count = 0;
    EXPECT_EQ(driver.cuGraphGetNodes(handle_, nullptr, &count), CUDA_SUCCESS);
    return count;
  }

  // Returns the edges as pairs of node numbers in order of creation: "0>1 0>2".
  [[nodiscard]] std::string edges() const {
    nodes all(size());
    std::size_t count = all.size();
    if (count != 0) {
      EXPECT_EQ(driver.cuGraphGetNodes(handle_, all.data(), &count), CUDA_SUCCESS);
    }
    std::size_t edge_count = 0;
    EXPECT_EQ(driver.cuGraphGetEdges_v2(handle_, nullptr, nullptr, nullptr, &edge_count),
              CUDA_SUCCESS);
    nodes from(edge_count);
    nodes to(edge_count);
    if (edge_count != 0) {
      EXPECT_EQ(driver.cuGraphGetEdges_v2(handle_, from.data(), to.data(), nullptr, &edge_count),
                CUDA_SUCCESS);
    }
    const auto number = [&](CUgraphNode node) {
      return std::to_string(std::ranges::find(all, node) - all.begin());
    };
    std::vector<std::string> told;
    for (std::size_t i = 0; i < edge_count; ++i)
      told.push_back(number(from[i]).append(">").append(number(to[i])));
    std::ranges::sort(told);
    std::string text;
    for (const std::string& edge : told) text.append(text.empty() ? "" : " ").append(edge);
    return text;
  }

 private:
  CUgraph handle_;
};

// A graph that is destroyed with this object.
class test_graph : public built_graph {
 public:
  test_graph() : built_graph{make()} {}
  explicit test_graph(CUgraph made) : built_graph{made} {}
  ~test_graph() { EXPECT_EQ(driver.cuGraphDestroy(*this), CUDA_SUCCESS); }
  test_graph(const test_graph&) = delete;
  test_graph& operator=(const test_graph&) = delete;

  static CUgraph make() {
    CUgraph made = nullptr;
    EXPECT_EQ(driver.cuGraphCreate(&made, 0), CUDA_SUCCESS);
    return made;
  }
};

class test_exec {
 public:
  explicit test_exec(CUgraph from) {
    EXPECT_EQ(driver.cuGraphInstantiateWithFlags(&handle_, from, 0), CUDA_SUCCESS);
  }
  ~test_exec() {
    if (handle_ != nullptr) destroy();
  }
  test_exec(const test_exec&) = delete;
  test_exec& operator=(const test_exec&) = delete;

  operator CUgraphExec() const { return handle_; }
  void launch(CUstream target_stream) const {
    EXPECT_EQ(driver.cuGraphLaunch(handle_, target_stream), CUDA_SUCCESS);
  }
  void destroy() {
    EXPECT_EQ(driver.cuGraphExecDestroy(std::exchange(handle_, nullptr)), CUDA_SUCCESS);
  }

 private:
  CUgraphExec handle_ = nullptr;
};

// Returns once the destructors of all released user objects have run. They run in the order of
// release.
inline void await_destructors() {
  std::atomic<bool> ran = false;
  CUuserObject last = nullptr;
  const auto note = [](void* flag) { *static_cast<std::atomic<bool>*>(flag) = true; };
  EXPECT_EQ(driver.cuUserObjectCreate(&last, &ran, note, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC),
            CUDA_SUCCESS);
  EXPECT_EQ(driver.cuUserObjectRelease(last, 1), CUDA_SUCCESS);
  while (!ran) std::this_thread::yield();
}

// Counts the calls of a host function, or of a destructor.
struct counter {
  std::atomic<int> calls{0};

  static void count(void* self) { ++static_cast<counter*>(self)->calls; }
};

// Words of pinned memory, initially 0, that nodes and tests read and write.
class test_words {
 public:
  explicit test_words(std::size_t count) : block_{count * sizeof(std::uint32_t)}, count_{count} {
    clear();
  }

  [[nodiscard]] std::uint32_t operator[](std::size_t i) const { return word(i).load(); }
  void set(std::size_t i, std::uint32_t value) { word(i).store(value); }
  void clear() {
    for (std::size_t i = 0; i < count_; ++i) set(i, 0);
  }
  [[nodiscard]] CUdeviceptr at(std::size_t i) const {
    return block_.address() + i * sizeof(std::uint32_t);
  }

  // Returns once the word has the value, without calling the driver.
  void await(std::size_t i, std::uint32_t value) const {
    while (word(i).load() != value) std::this_thread::yield();
  }

 private:
  [[nodiscard]] std::atomic_ref<std::uint32_t> word(std::size_t i) const {
    return std::atomic_ref{static_cast<std::uint32_t*>(block_.get())[i]};
  }

  pinned_block block_;
  std::size_t count_;
};

}  // namespace weir::embedded
