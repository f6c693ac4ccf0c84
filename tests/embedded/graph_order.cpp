// SPDX-License-Identifier: Apache-2.0
// graph_order.cpp - prints the order in which the nodes of two launched graphs ran; same_order.sh
// compares runs. Each graph has parallel chains of two nodes: one sets the chain's word, the next
// copies all words, which shows which chains came before. Host functions cannot record the order,
// because their timing varies (docs/driver/embedded-driver.md).
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "driver/abi.hpp"
#include "embedded/table.hpp"

using namespace weir::abi;

namespace {

constexpr std::size_t chains = 8;
using words = std::array<std::uint32_t, chains>;

void check(CUresult result) {
  if (result != CUDA_SUCCESS) std::exit(EXIT_FAILURE);
}

void add_chain(CUgraph to, CUcontext target_context, CUdeviceptr own, CUdeviceptr all,
               CUdeviceptr copy) {
  const auto& driver = weir::embedded::table();
  const CUDA_MEMSET_NODE_PARAMS set{own, 0, 1, 4, 1, 1};
  CUDA_MEMCPY3D what{};
  what.srcMemoryType = what.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
  what.srcDevice = all;
  what.dstDevice = copy;
  what.WidthInBytes = sizeof(words);
  what.Height = what.Depth = 1;
  CUgraphNode first = nullptr;
  CUgraphNode second = nullptr;
  check(driver.cuGraphAddMemsetNode(&first, to, nullptr, 0, &set, target_context));
  check(driver.cuGraphAddMemcpyNode(&second, to, &first, 1, &what, target_context));
}

}  // namespace

int main() {
  const auto& driver = weir::embedded::table();
  CUcontext context = nullptr;
  CUstream stream = nullptr;
  void* memory = nullptr;
  check(driver.cuInit(0));
  check(driver.cuDevicePrimaryCtxRetain(&context, 0));
  check(driver.cuCtxSetCurrent(context));
  check(driver.cuStreamCreate(&stream, 0));
  check(driver.cuMemAllocHost_v2(&memory, (chains + 1) * sizeof(words)));
  auto* const seen = static_cast<words*>(memory);  // the words, and the chains' copies of them
  for (int graphs = 0; graphs < 2; ++graphs) {
    for (std::size_t i = 0; i <= chains; ++i) seen[i].fill(0);
    CUgraph graph = nullptr;
    CUgraphExec exec = nullptr;
    check(driver.cuGraphCreate(&graph, 0));
    for (std::size_t i = 0; i < chains; ++i) {
      add_chain(graph, context, reinterpret_cast<CUdeviceptr>(&seen[0][i]),
                reinterpret_cast<CUdeviceptr>(&seen[0]),
                reinterpret_cast<CUdeviceptr>(&seen[i + 1]));
    }
    check(driver.cuGraphInstantiateWithFlags(&exec, graph, 0));
    check(driver.cuGraphLaunch(exec, stream));
    check(driver.cuStreamSynchronize(stream));
    for (std::size_t i = 0; i < chains; ++i) {
      for (const std::uint32_t word : seen[i + 1]) std::printf("%u", word);
      std::printf(" ");
      if (seen[i + 1][i] != 1) return EXIT_FAILURE;
    }
    check(driver.cuGraphExecDestroy(exec));
    check(driver.cuGraphDestroy(graph));
  }
  std::printf("\n");
  return EXIT_SUCCESS;
}
