// SPDX-License-Identifier: Apache-2.0
// cases/sync/memop_access.cpp - stream memory operations on words that the device may only read, or
// not access at all.
#include "cases/memory/ranges.hpp"

#include <sys/mman.h>

#include <functional>
#include <string>

namespace weir::conformance {
namespace {

constexpr uint32_t kWas = 5;

// A read-only page of the host, registered as such.
class ReadOnlyPage {
 public:
  ReadOnlyPage() {
    page_ = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page_ == MAP_FAILED) throw Abort{"mmap"};
    *static_cast<uint32_t*>(page_) = kWas;
    if (mprotect(page_, 4096, PROT_READ) != 0) throw Abort{"mprotect"};
    OK(cuMemHostRegister(page_, 4096, CU_MEMHOSTREGISTER_READ_ONLY | CU_MEMHOSTREGISTER_DEVICEMAP));
    OK(cuMemHostGetDevicePointer(&d, page_, 0));
  }
  ReadOnlyPage(const ReadOnlyPage&) = delete;
  ReadOnlyPage& operator=(const ReadOnlyPage&) = delete;
  ~ReadOnlyPage() {
    cuMemHostUnregister(page_);
    munmap(page_, 4096);
  }
  CUdeviceptr d = 0;

 private:
  void* page_;
};

// Mapped memory whose first word is kWas, with the given access for the device.
class MappedWith {
 public:
  explicit MappedWith(int access) {
    OK(cuMemMap(d, kGrain, 0, memory_, 0));
    if (access == CU_MEM_ACCESS_FLAGS_PROT_NONE) return;
    OK(open_access(d, kGrain));
    OK(cuMemsetD32(d, kWas, 2));
    OK(cuCtxSynchronize());
    if (access == CU_MEM_ACCESS_FLAGS_PROT_READ)
      OK(open_access(d, kGrain, CU_MEM_ACCESS_FLAGS_PROT_READ));
  }
  Range d;

 private:
  Piece memory_;
};

// Records a call's result, and its effect on the device. After a failure there, later results mean
// nothing.
void rec_memop(Rec& r, const std::string& key, CUstream s, const std::function<CUresult()>& call) {
  if (r.k(key, call()) != CUDA_SUCCESS) return;
  if (r.k(key + ".sync", cuStreamSynchronize(s)) != CUDA_SUCCESS) throw Abort{key};
}

void rec_memop_waits(Rec& r, CUdeviceptr at) {
  Stream s(NB);
  rec_memop(r, "wait32", s,
            [&] { return cuStreamWaitValue32(s, at, 0, CU_STREAM_WAIT_VALUE_GEQ); });
  rec_memop(r, "wait64", s,
            [&] { return cuStreamWaitValue64(s, at, 0, CU_STREAM_WAIT_VALUE_GEQ); });
  auto op = op_wait(at, 0);
  rec_memop(r, "batch", s, [&] { return cuStreamBatchMemOp(s, 1, &op, 0); });
}

// The value is different, so that a successful write is visible in the host's page, too.
void rec_writes(Rec& r, CUdeviceptr at) {
  Stream s(NB);
  rec_memop(r, "write32", s, [&] { return cuStreamWriteValue32(s, at, kWas + 1, 0); });
  rec_memop(r, "write64", s, [&] { return cuStreamWriteValue64(s, at, kWas + 2, 0); });
}

void rec_batch_write(Rec& r, CUdeviceptr at) {
  Stream s(NB);
  Cell first = new_cell();
  CUstreamBatchMemOpParams ops[2] = {op_write(first.d, 1), op_write(at, kWas + 3)};
  rec_memop(r, "batch", s, [&] { return cuStreamBatchMemOp(s, 2, ops, 0); });
  OK(cuStreamSynchronize(s));
  r.k("first_of_batch", first.get());
}

// Adds the operations as nodes, which do not run.
void rec_nodes(Rec& r, CUdeviceptr at) {
  for (const bool write : {false, true}) {
    const std::string key = write ? "write" : "wait";
    Graph graph;
    CUgraphNode node = nullptr;
    auto op = write ? op_write(at, kWas) : op_wait(at, 0);
    const CUDA_BATCH_MEM_OP_NODE_PARAMS p{g.ctx, 1, &op, 0};
    if (r.k(key, cuGraphAddBatchMemOpNode(&node, graph, nullptr, 0, &p)) != CUDA_SUCCESS) continue;
    CUgraphExec exec = nullptr;
    r.k(key + ".instantiate", cuGraphInstantiate(&exec, graph, 0));
    if (exec) OK(cuGraphExecDestroy(exec));
  }
  Stream s(NB);
  begin(s);
  r.k("captured_wait", cuStreamWaitValue32(s, at, 0, CU_STREAM_WAIT_VALUE_GEQ));
  r.k("captured_write", cuStreamWriteValue32(s, at, kWas, 0));
  rec_end(r, "end", s);
}

}  // namespace

void memop_access_cases() {
  const struct {
    const char* name;
    int access;  // for mapped memory; -1 is the registered page
  } memories[] = {{"read_only_registration", -1},
                  {"mapped_without_access", CU_MEM_ACCESS_FLAGS_PROT_NONE},
                  {"mapped_read_only", CU_MEM_ACCESS_FLAGS_PROT_READ},
                  {"mapped_read_write", CU_MEM_ACCESS_FLAGS_PROT_READWRITE}};
  const struct {
    const char* name;
    void (*body)(Rec&, CUdeviceptr);
  } uses[] = {{"waits", rec_memop_waits},
              {"writes", rec_writes},
              {"batch_write", rec_batch_write},
              {"nodes", rec_nodes}};
  for (const auto& memory : memories) {
    for (const auto& use : uses) {
      add("memop." + std::string(memory.name) + "." + use.name, ISO, [memory, use](Rec& r) {
        if (memory.access < 0) {
          const ReadOnlyPage page;
          use.body(r, page.d);
        } else {
          const MappedWith mapped(memory.access);
          use.body(r, mapped.d);
        }
      });
    }
  }
}

}  // namespace weir::conformance
