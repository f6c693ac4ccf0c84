// SPDX-License-Identifier: Apache-2.0
// harness/raw_graph.hpp - graphs of many small nodes, built with direct driver calls.
#pragma once

#include "harness/raw.hpp"
#include "peers/flow_graph.hpp"

#include <algorithm>
#include <cstddef>

namespace bench {

// The nodes set one word, or each a word `stride` bytes behind the previous node's, or call a
// function.
class raw_graph {
 public:
  raw_graph(graph_shape shape, std::size_t nodes, CUdeviceptr word, CUhostFn function = nullptr,
            std::size_t bytes = 0) {
    const auto& table = raw();
    ok(table.cuGraphCreate(&handle_, 0));
    CUcontext in = nullptr;
    ok(table.cuCtxGetCurrent(&in));
    CUDA_MEMSET_NODE_PARAMS set{word, 0, 1, 4, std::max<std::size_t>(bytes / 4, 1), 1};
    const CUDA_HOST_NODE_PARAMS host{function, nullptr};
    CUgraphNode node = nullptr;
    for (std::size_t i = 0; i < nodes; ++i) {
      const CUgraphNode before = node;
      const std::size_t behind = shape == graph_shape::wide || i == 0 ? 0 : 1;
      if (function == nullptr) {
        ok(table.cuGraphAddMemsetNode(&node, handle_, &before, behind, &set, in));
        set.dst += bytes;
      } else {
        ok(table.cuGraphAddHostNode(&node, handle_, &before, behind, &host));
      }
    }
  }
  raw_graph(const raw_graph&) = delete;
  raw_graph& operator=(const raw_graph&) = delete;
  ~raw_graph() { static_cast<void>(raw().cuGraphDestroy(handle_)); }
  operator CUgraph() const { return handle_; }

 private:
  CUgraph handle_ = nullptr;
};

class raw_exec {
 public:
  explicit raw_exec(CUgraph of) { ok(raw().cuGraphInstantiateWithFlags(&handle_, of, 0)); }
  raw_exec(const raw_exec&) = delete;
  raw_exec& operator=(const raw_exec&) = delete;
  ~raw_exec() { static_cast<void>(raw().cuGraphExecDestroy(handle_)); }
  operator CUgraphExec() const { return handle_; }

  void run(const raw_stream& in) const {
    ok(raw().cuGraphLaunch(handle_, in));
    in.sync();
  }
  void update(CUgraph to) const {
    CUgraphExecUpdateResultInfo why{};
    ok(raw().cuGraphExecUpdate_v2(handle_, to, &why));
  }

 private:
  CUgraphExec handle_ = nullptr;
};

}  // namespace bench
