// SPDX-License-Identifier: Apache-2.0
// cases/memory/pool/pool_export.cpp - pools for other processes, in the process that created them;
// also imported there again.
#include "cases/ipc/ipc_peers.hpp"
#include "cases/memory/pool/pools.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <iterator>

namespace weir::conformance {
namespace {

// A pool that can be exported as a file descriptor.
class SharedPool {
 public:
  CUmemoryPool p = nullptr;
  SharedPool() {
    CUmemPoolProps q = pool_props();
    q.handleTypes = FD;
    OK(cuMemPoolCreate(&p, &q));
  }
  SharedPool(const SharedPool&) = delete;
  SharedPool& operator=(const SharedPool&) = delete;
  ~SharedPool() {
    if (p) cuMemPoolDestroy(p);
  }
  operator CUmemoryPool() const { return p; }
};

// Returns a file descriptor in the form that the driver takes.
void* as_handle(int fd) { return reinterpret_cast<void*>(static_cast<intptr_t>(fd)); }

// Exports the pool, which must precede the export of its memory.
void export_once(CUmemoryPool q) {
  int fd = -1;
  OK(cuMemPoolExportToShareableHandle(&fd, q, FD, 0));
  close(fd);
}

}  // namespace

void pool_export_cases() {
  add("poolipc.export", [](Rec& r) {
    SharedPool q;
    int fd = -1;
    r.k("export", cuMemPoolExportToShareableHandle(&fd, q, FD, 0));
    r.k("is_descriptor", fd >= 0 && fcntl(fd, F_GETFD) >= 0);
    r.k("~close_on_exec", fd >= 0 && (fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
    int second = -1;
    r.k("again", cuMemPoolExportToShareableHandle(&second, q, FD, 0));
    r.k("another_descriptor", second >= 0 && second != fd);
    if (second >= 0) close(second);
    if (fd >= 0) close(fd);
  });
  add("poolipc.export_arguments", [](Rec& r) {
    SharedPool q;
    Pool plain;
    CUmemoryPool d = nullptr;
    OK(cuDeviceGetDefaultMemPool(&d, g.dev));
    int fd = -1;
    r.k("no_handle", cuMemPoolExportToShareableHandle(nullptr, q, FD, 0));
    r.k("flags1", cuMemPoolExportToShareableHandle(&fd, q, FD, 1));
    for (unsigned type : {0u, 2u, 4u, 8u, 9u, 77u}) {
      unsigned char handle[64] = {};
      r.k("type" + std::to_string(type),
          cuMemPoolExportToShareableHandle(handle, q, static_cast<CUmemAllocationHandleType>(type),
                                           0));
    }
    r.k("plain_type0", cuMemPoolExportToShareableHandle(&fd, plain, CU_MEM_HANDLE_TYPE_NONE, 0));
    r.k("default_pool", cuMemPoolExportToShareableHandle(&fd, d, FD, 0));
    r.k("untouched", fd == -1);
    on_thread(
        [&] {
          int got = -1;
          r.k("no_context", cuMemPoolExportToShareableHandle(&got, q, FD, 0));
          if (got >= 0) close(got);
        },
        false);
  });
  add("poolipc.import_arguments", [](Rec& r) {
    CUmemoryPool q = nullptr;
    SharedPool made;
    int fd = -1;
    OK(cuMemPoolExportToShareableHandle(&fd, made, FD, 0));
    r.k("no_pool", cuMemPoolImportFromShareableHandle(nullptr, as_handle(fd), FD, 0));
    r.k("flags1", cuMemPoolImportFromShareableHandle(&q, as_handle(fd), FD, 1));
    for (unsigned type : {0u, 2u, 4u, 77u}) {
      r.k("type" + std::to_string(type),
          cuMemPoolImportFromShareableHandle(&q, as_handle(fd),
                                             static_cast<CUmemAllocationHandleType>(type), 0));
    }
    r.k("descriptor_minus1", cuMemPoolImportFromShareableHandle(&q, as_handle(-1), FD, 0));
    r.k("descriptor_none", cuMemPoolImportFromShareableHandle(&q, as_handle(9999), FD, 0));
    const int null_device = open("/dev/null", O_RDWR | O_CLOEXEC);
    r.k("descriptor_of_something",
        cuMemPoolImportFromShareableHandle(&q, as_handle(null_device), FD, 0));
    close(null_device);
    r.k("untouched", q == nullptr);
    close(fd);
  });
  add("poolipc.import_at_home", ISO, [](Rec& r) {
    SharedPool made;
    int fd = -1;
    OK(cuMemPoolExportToShareableHandle(&fd, made, FD, 0));
    CUmemoryPool q = nullptr;
    const CUresult imported =
        r.k("import", cuMemPoolImportFromShareableHandle(&q, as_handle(fd), FD, 0));
    close(fd);
    if (imported != CUDA_SUCCESS) return;
    r.k("same_pool", q == made.p);
    Stream s(NB);
    CUdeviceptr a = 0, b = 0;
    OK(cuMemAllocFromPoolAsync(&a, 4096, made, s));
    OK(cuMemsetD32Async(a, 71, 4, s));
    OK(cuStreamSynchronize(s));
    CUmemPoolPtrExportData data;
    OK(cuMemPoolExportPointer(&data, a));
    if (r.k("import_pointer", cuMemPoolImportPointer(&b, q, &data)) == CUDA_SUCCESS) {
      r.k("same_address", a == b);
      rec_word(r, "word", b);
      if (a != b) r.k("free_imported", cuMemFreeAsync(b, s));
    }
    OK(cuStreamSynchronize(s));
    if (q != made.p) r.k("destroy_imported", cuMemPoolDestroy(q));
    r.k("free", cuMemFreeAsync(a, s));
    OK(cuStreamSynchronize(s));
  });
  add("poolipc.export_pointer", [](Rec& r) {
    SharedPool q;
    Pool plain;
    Stream s(NB);
    CUdeviceptr a = 0, b = 0, c = 0;
    OK(cuMemAllocFromPoolAsync(&a, 4096, q, s));
    OK(cuMemAllocFromPoolAsync(&b, 4096, plain, s));
    OK(cuMemAllocAsync(&c, 4096, s));
    OK(cuStreamSynchronize(s));
    DevMem d(4096);
    CUmemPoolPtrExportData data, again;
    r.k("before_the_pool", cuMemPoolExportPointer(&data, a));
    export_once(q);
    memset(&data, 0, sizeof data);
    memset(&again, 0, sizeof again);
    r.k("start", cuMemPoolExportPointer(&data, a));
    r.k("again", cuMemPoolExportPointer(&again, a));
    r.k("again_same", memcmp(&data, &again, sizeof data) == 0);
    r.k("interior", cuMemPoolExportPointer(&again, a + 256));
    r.k("no_data", cuMemPoolExportPointer(nullptr, a));
    r.k("plain_pool", cuMemPoolExportPointer(&again, b));
    r.k("default_pool", cuMemPoolExportPointer(&again, c));
    r.k("of_mem_alloc", cuMemPoolExportPointer(&again, d));
    r.k("pinned", cuMemPoolExportPointer(&again, hp(g.pin)));
    r.k("null", cuMemPoolExportPointer(&again, 0));
    for (const CUdeviceptr p : {a, b, c}) OK(cuMemFreeAsync(p, s));
    OK(cuStreamSynchronize(s));
    r.k("freed", cuMemPoolExportPointer(&again, a));
  });
  add("poolipc.export_pointer_while_pending", [](Rec& r) {
    SharedPool q;
    Stream s(NB);
    ValueGate v;
    v.arm(s);
    CUdeviceptr a = 0;
    OK(cuMemAllocFromPoolAsync(&a, 4096, q, s));
    export_once(q);
    CUmemPoolPtrExportData data;
    record_blocking(r, "export",
                    blocking([&] { v.open(); }, [&] { return cuMemPoolExportPointer(&data, a); }));
    v.open();
    OK(cuMemFreeAsync(a, s));
    OK(cuStreamSynchronize(s));
  });
  add("poolipc.import_pointer_arguments", ISO, [](Rec& r) {
    SharedPool q, other;
    Stream s(NB);
    CUdeviceptr a = 0, b = 0;
    OK(cuMemAllocFromPoolAsync(&a, 4096, q, s));
    OK(cuStreamSynchronize(s));
    export_once(q);
    CUmemPoolPtrExportData data, garbage;
    OK(cuMemPoolExportPointer(&data, a));
    memset(&garbage, 0x5a, sizeof garbage);
    r.k("no_address", cuMemPoolImportPointer(nullptr, q, &data));
    r.k("no_pool", cuMemPoolImportPointer(&b, nullptr, &data));
    r.k("no_data", cuMemPoolImportPointer(&b, q, nullptr));
    r.k("pool_that_was_not_imported", cuMemPoolImportPointer(&b, q, &data));
    r.k("other_pool", cuMemPoolImportPointer(&b, other, &data));
    r.k("untouched", b == 0);
    OK(cuMemFreeAsync(a, s));
    OK(cuStreamSynchronize(s));
  });
  add("poolipc.shared_memory_attributes", [](Rec& r) {
    // the reported properties of memory of an exportable pool
    SharedPool q;
    Stream s(NB);
    CUdeviceptr a = 0;
    OK(cuMemAllocFromPoolAsync(&a, 4096, q, s));
    OK(cuStreamSynchronize(s));
    unsigned long long types = 99;
    unsigned ipc = 9;
    r.k("handle_types",
        cuPointerGetAttribute(&types, CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES, a));
    r.k("handle_types_value", types);
    r.k("ipc_capable",
        cuPointerGetAttribute(&ipc, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, a));
    r.k("ipc_capable_value", ipc);
    CUipcMemHandle h;
    r.k("ipc_handle", cuIpcGetMemHandle(&h, a));
    OK(cuMemFreeAsync(a, s));
    OK(cuStreamSynchronize(s));
  });
  add("poolipc.calls_while_capturing", [](Rec& r) {
    SharedPool q;
    Stream t(NB);
    CUdeviceptr a = 0;
    OK(cuMemAllocFromPoolAsync(&a, 4096, q, t));
    OK(cuStreamSynchronize(t));
    for (const CUstreamCaptureMode mode : {GLOBAL, RELAXED}) {
      const std::string k = lower(name_of(mode));
      const auto captured = [&](const std::string& n, auto call) {
        Stream s(NB);
        begin(s, mode);
        lab(s, "a");
        r.k(k + "." + n, call());
        r.k(k + "." + n + ".status", capture_status(s));
        rec_end(r, k + "." + n + ".end", s);
      };
      int fd = -1;
      CUmemoryPool imported = nullptr;
      CUmemPoolPtrExportData data;
      captured("export", [&] { return cuMemPoolExportToShareableHandle(&fd, q, FD, 0); });
      if (fd >= 0) close(fd);
      captured("import_nothing",
               [&] { return cuMemPoolImportFromShareableHandle(&imported, as_handle(-1), FD, 0); });
      captured("export_pointer", [&] { return cuMemPoolExportPointer(&data, a); });
    }
    OK(cuMemFreeAsync(a, t));
    OK(cuStreamSynchronize(t));
  });
}

}  // namespace weir::conformance
