// SPDX-License-Identifier: Apache-2.0
// sequences/world.cpp - the objects of a sequence, and the process that it runs in.
#include "sequences/world.hpp"

#include <cstdio>
#include <cstdlib>

namespace weir::sequences {
namespace {

void must(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  std::fprintf(stderr, "weir_sequences: %s answers %s\n", what, short_name(result).c_str());
  std::exit(2);
}

host_page new_page() {
  auto* const bytes =
      static_cast<std::uint8_t*>(std::aligned_alloc(host_page::bytes, host_page::bytes));
  return {{bytes, &std::free}};
}

// Uses every kind of work once: a GPU's driver loads code at the first use, and may wait for all
// work to do so.
void warm_up(const driver_table& d) {
  CUstream stream = nullptr;
  CUevent event = nullptr;
  CUdeviceptr memory = 0, pooled = 0;
  must(d.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
  must(d.cuEventCreate(&event, CU_EVENT_DEFAULT), "cuEventCreate");
  must(d.cuMemAlloc_v2(&memory, 4096), "cuMemAlloc_v2");
  for (unsigned element = 0; element < 3; ++element) {
    must(d.cuMemsetD8Async(memory + element, 1, 100, stream), "cuMemsetD8Async");
    must(d.cuMemsetD16Async(memory + 2 * element, 1, 100, stream), "cuMemsetD16Async");
    must(d.cuMemsetD32Async(memory + 4 * element, 1, 100, stream), "cuMemsetD32Async");
    must(d.cuMemsetD2D8Async(memory + element, 64, 1, 3, 3, stream), "cuMemsetD2D8Async");
  }
  must(d.cuMemcpyDtoDAsync_v2(memory, memory + 2048, 64, stream), "cuMemcpyDtoDAsync_v2");
  must(d.cuStreamWriteValue32_v2(stream, memory, 1, 0), "cuStreamWriteValue32_v2");
  must(d.cuLaunchHostFunc(
           stream, [](void*) {}, nullptr),
       "cuLaunchHostFunc");
  must(d.cuMemAllocAsync(&pooled, 4096, stream), "cuMemAllocAsync");
  must(d.cuMemFreeAsync(pooled, stream), "cuMemFreeAsync");
  must(d.cuEventRecord(event, stream), "cuEventRecord");
  must(d.cuStreamWaitEvent(nullptr, event, 0), "cuStreamWaitEvent");
  must(d.cuCtxSynchronize(), "cuCtxSynchronize");
  must(d.cuMemFree_v2(memory), "cuMemFree_v2");
  must(d.cuEventDestroy_v2(event), "cuEventDestroy_v2");
  must(d.cuStreamDestroy_v2(stream), "cuStreamDestroy_v2");
}

}  // namespace

process::process(const driver_under_test& under_test, handles which)
    : driver{under_test}, allowed{which}, gate_page{new_page()} {
  const driver_table& d = driver.plain;
  must(d.cuDeviceGet(&device, 0), "cuDeviceGet");
  must(d.cuDevicePrimaryCtxRetain(&contexts[0], device), "cuDevicePrimaryCtxRetain");
  must(d.cuCtxCreate_v4(&contexts[1], nullptr, 0, device), "cuCtxCreate_v4");
  must(d.cuCtxGetFlags(&flags[1]), "cuCtxGetFlags");
  warm_up(d);
  must(d.cuCtxSetCurrent(contexts[0]), "cuCtxSetCurrent");
  must(d.cuCtxGetFlags(&flags[0]), "cuCtxGetFlags");
  warm_up(d);

  for (unsigned i = 0; i < page_count; ++i) pages.push_back(new_page());
  void* const word = gate_page.memory.get();
  must(d.cuMemHostRegister_v2(word, 4096, CU_MEMHOSTREGISTER_PORTABLE), "cuMemHostRegister_v2");
  gate_word_on_host = static_cast<std::uint32_t*>(word);
  *gate_word_on_host = 0;
  must(d.cuMemHostGetDevicePointer_v2(&gate_word, word, 0), "cuMemHostGetDevicePointer_v2");
  for (unsigned thread = 1; thread < thread_count; ++thread) {
    threads.run(thread, [&] { must(d.cuCtxSetCurrent(contexts[0]), "cuCtxSetCurrent"); });
  }
}

host_log& process::new_log() {
  constexpr std::size_t most = 64;
  if (logs.size() == most) logs.pop_front();
  return *logs.emplace_back(std::make_shared<host_log>());
}

int current_context(const world& w) {
  CUcontext context = nullptr;
  (void)w.p.driver.plain.cuCtxGetCurrent(&context);
  for (std::size_t i = 0; i < w.p.contexts.size(); ++i) {
    if (w.p.contexts[i] == context) return static_cast<int>(i);
  }
  return -1;
}

std::string name_of(const world& w, CUcontext context) {
  if (context == nullptr) return "null";
  for (std::size_t i = 0; i < w.p.contexts.size(); ++i) {
    if (w.p.contexts[i] == context) return fmt::format("c{}", i);
  }
  return "other";
}

std::string name_of(const world& w, CUmemoryPool pool) {
  if (pool == nullptr) return "null";
  for (const pool_object& one : w.pools) {
    if (one.live && one.handle == pool) return one.name;
  }
  CUmemoryPool fallback = nullptr;
  if (w.p.driver.plain.cuDeviceGetDefaultMemPool(&fallback, w.p.device) == CUDA_SUCCESS &&
      fallback == pool)
    return "default";
  return "other";
}

std::string where(const world& w, CUdeviceptr address) {
  if (address == 0) return "null";
  for (const block& one : w.blocks) {
    if (one.live && address >= one.address && address - one.address < one.size)
      return address == one.address ? one.name
                                    : fmt::format("{}+{}", one.name, address - one.address);
  }
  return "elsewhere";
}

}  // namespace weir::sequences
