// SPDX-License-Identifier: Apache-2.0
// cases/memory/pool/pool_import.cpp - pools of another process, in the process that imported them.
#include "cases/ipc/ipc_peers.hpp"
#include "cases/memory/pool/pools.hpp"

#include <unistd.h>

#include <cstring>

namespace weir::conformance {
namespace {

// The pool of the other process, imported here.
class ImportedPool {
 public:
  CUmemoryPool p = nullptr;
  explicit ImportedPool(Exporter& from) {
    from.must("make_pool 1");
    from.must("export_pool");
    const int fd = from.descriptor();
    const CUresult e = cuMemPoolImportFromShareableHandle(
        &p, reinterpret_cast<void*>(static_cast<intptr_t>(fd)), FD, 0);
    close(fd);
    OK(e);
  }
  ImportedPool(const ImportedPool&) = delete;
  ImportedPool& operator=(const ImportedPool&) = delete;
  ~ImportedPool() {
    if (p) cuMemPoolDestroy(p);
  }
  operator CUmemoryPool() const { return p; }
  CUresult destroy() {
    const CUmemoryPool was = p;
    p = nullptr;
    return cuMemPoolDestroy(was);
  }
};

CUmemPoolPtrExportData exported_pointer(Exporter& p, const std::string& slot = "0") {
  p.must("pool_alloc." + slot + " 4096");
  return p.handle<CUmemPoolPtrExportData>("export_pointer." + slot);
}

void pool_cases() {
  add("poolipc.imported_attributes", SLOW, [](Rec& r) {
    Exporter p;
    ImportedPool q(p);
    for (int n = 1; n <= 8; n++) {
      const auto a = static_cast<CUmemPool_attribute>(n);
      cuuint64_t v = 0;
      const std::string k = "attr" + std::to_string(n);
      if (r.k(k, cuMemPoolGetAttribute(q, a, &v)) == CUDA_SUCCESS) r.k(k + ".value", v);
      cuuint64_t zero = 0;
      r.k(k + ".set0", cuMemPoolSetAttribute(q, a, &zero));
    }
    r.k("trim", cuMemPoolTrimTo(q, 0));
  });
  add("poolipc.imported_allocations", ISO | SLOW, [](Rec& r) {
    Exporter p;
    ImportedPool q(p);
    Stream s(NB);
    CUdeviceptr a = 0;
    r.k("alloc", cuMemAllocFromPoolAsync(&a, 4096, q, s));
    r.k("alloc_0", cuMemAllocFromPoolAsync(&a, 0, q, s));
    r.k("set_current", cuDeviceSetMemPool(g.dev, q));
    CUmemoryPool current = nullptr, own = nullptr;
    OK(cuDeviceGetMemPool(&current, g.dev));
    OK(cuDeviceGetDefaultMemPool(&own, g.dev));
    r.k("current_is_default", current == own);
    OK(cuDeviceSetMemPool(g.dev, own));
  });
  add("poolipc.imported_access", SLOW, [](Rec& r) {
    Exporter p;
    ImportedPool q(p);
    CUmemLocation here{};
    here.type = CU_MEM_LOCATION_TYPE_DEVICE;
    here.id = g.dev;
    CUmemAccess_flags f = CU_MEM_ACCESS_FLAGS_PROT_NONE;
    r.k("get", cuMemPoolGetAccess(&f, q, &here));
    r.k("flags", static_cast<int>(f));
    CUmemAccessDesc d{};
    d.location = here;
    d.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    r.k("set_rw", cuMemPoolSetAccess(q, &d, 1));
    d.flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
    r.k("set_none", cuMemPoolSetAccess(q, &d, 1));
  });
  add("poolipc.imported_export", SLOW, [](Rec& r) {
    Exporter p;
    ImportedPool q(p);
    int fd = -1;
    r.k("export_again", cuMemPoolExportToShareableHandle(&fd, q, FD, 0));
    if (fd >= 0) close(fd);
  });
  add("poolipc.imported_twice", SLOW, [](Rec& r) {
    Exporter p;
    ImportedPool a(p);
    p.must("export_pool");
    const int fd = p.descriptor();
    CUmemoryPool b = nullptr;
    const CUresult e =
        r.k("import", cuMemPoolImportFromShareableHandle(
                          &b, reinterpret_cast<void*>(static_cast<intptr_t>(fd)), FD, 0));
    close(fd);
    if (e != CUDA_SUCCESS) return;
    r.k("same", a.p == b);
    const auto data = exported_pointer(p);
    CUdeviceptr x = 0, y = 0;
    auto copy = data;
    r.k("pointer_of_first", cuMemPoolImportPointer(&x, a, &copy));
    r.k("pointer_of_second", cuMemPoolImportPointer(&y, b, &copy));
    r.k("~same_address", x == y);
    if (x) r.k("free_first", cuMemFree(x));
    if (y && y != x) r.k("free_second", cuMemFree(y));
    if (b != a.p) r.k("destroy_second", cuMemPoolDestroy(b));
  });
  add("poolipc.imported_twice_destroyed_once", ISO | SLOW, [](Rec& r) {
    Exporter p;
    ImportedPool a(p);
    p.must("export_pool");
    const int fd = p.descriptor();
    CUmemoryPool b = nullptr;
    const CUresult e = cuMemPoolImportFromShareableHandle(
        &b, reinterpret_cast<void*>(static_cast<intptr_t>(fd)), FD, 0);
    close(fd);
    OK(e);
    r.k("destroy", a.destroy());
    auto data = exported_pointer(p);
    CUdeviceptr x = 0;
    r.k("import_after", cuMemPoolImportPointer(&x, b, &data));
    if (!x) return;
    rec_word(r, "word", x + 4);
    r.k("free", cuMemFree(x));
    r.k("destroy_second", cuMemPoolDestroy(b));
  });
  add("poolipc.imported_outlives_process", ISO | SLOW, [](Rec& r) {
    Exporter p;
    ImportedPool q(p);
    auto data = exported_pointer(p);
    CUdeviceptr a = 0;
    OK(cuMemPoolImportPointer(&a, q, &data));
    p.wait_for_exit();
    rec_word(r, "word", a + 4);
    r.k("free", cuMemFree(a));
    CUdeviceptr b = 0;
    r.k("~import_after", cuMemPoolImportPointer(&b, q, &data));
    if (b) cuMemFree(b);
    r.k("destroy", q.destroy());
  });
}

void import_pointer_cases() {
  add("poolipc.pointer", SLOW, [](Rec& r) {
    Exporter p;
    ImportedPool q(p);
    auto data = exported_pointer(p);
    CUdeviceptr a = 0;
    Stream s(NB);
    r.k("import", cuMemPoolImportPointer(&a, q, &data));
    rec_word(r, "word", a + 8);
    r.k("set", cuMemsetD32Async(a, 81, 1, s));
    OK(cuStreamSynchronize(s));
    r.k("seen", p.request("read"));
    r.k("free", cuMemFreeAsync(a, s));
    r.k("free_twice", cuMemFreeAsync(a, s));
    OK(cuStreamSynchronize(s));
    r.k("exporter_frees", p.request("pool_free"));
    r.k("exporter_used", p.request("pool_attr 7"));
  });
  add("poolipc.pointer_attributes", SLOW, [](Rec& r) {
    Exporter p;
    ImportedPool q(p);
    auto data = exported_pointer(p);
    CUdeviceptr a = 0;
    OK(cuMemPoolImportPointer(&a, q, &data));
    CUmemoryPool of = nullptr;
    r.k("pool", cuPointerGetAttribute(&of, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, a));
    r.k("pool_is_imported", of == q.p);
    CUcontext c = g.ctx;
    r.k("context", cuPointerGetAttribute(&c, CU_POINTER_ATTRIBUTE_CONTEXT, a));
    r.k("context_null", c == nullptr);
    unsigned type = 0;
    r.k("type", cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, a));
    r.k("type_value", type);
    int ordinal = -9;
    r.k("ordinal", cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, a));
    r.k("ordinal_value", ordinal);
    unsigned ipc = 9;
    r.k("ipc_capable",
        cuPointerGetAttribute(&ipc, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, a));
    r.k("ipc_capable_value", ipc);
    unsigned long long types = 99;
    r.k("handle_types",
        cuPointerGetAttribute(&types, CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES, a));
    r.k("handle_types_value", types);
    size_t size = 0;
    CUdeviceptr base = 0;
    r.k("range", cuMemGetAddressRange(&base, &size, a));
    r.k("range_size", size);
    r.k("range_starts_there", base == a);
    CUipcMemHandle h;
    r.k("ipc_handle", cuIpcGetMemHandle(&h, a));
    CUmemPoolPtrExportData again;
    r.k("export_pointer", cuMemPoolExportPointer(&again, a));
    r.k("ipc_close", cuIpcCloseMemHandle(a));
    r.k("free", cuMemFree(a));
  });
  add("poolipc.pointer_twice", SLOW, [](Rec& r) {
    Exporter p;
    ImportedPool q(p);
    auto data = exported_pointer(p);
    CUdeviceptr a = 0, b = 0;
    r.k("first", cuMemPoolImportPointer(&a, q, &data));
    r.k("second", cuMemPoolImportPointer(&b, q, &data));
    if (!b) return;
    r.k("~same", a == b);
    r.k("free_first", cuMemFree(a));
    if (a != b) rec_word(r, "word_of_second", b + 4);
    r.k("~free_second", cuMemFree(b));
  });
  add("poolipc.pointer_of_other_pool", ISO | SLOW, [](Rec& r) {
    Exporter p, other;
    ImportedPool q(p), q2(other);
    auto data = exported_pointer(p);
    CUdeviceptr a = 0;
    r.k("import_from_other", cuMemPoolImportPointer(&a, q2, &data));
    if (a) cuMemFree(a);
  });
  add("poolipc.pointer_garbage", ISO | SLOW, [](Rec& r) {
    Exporter p;
    ImportedPool q(p);
    CUmemPoolPtrExportData data;
    memset(&data, 0, sizeof data);
    CUdeviceptr a = 0;
    r.k("zeros", cuMemPoolImportPointer(&a, q, &data));
    memset(&data, 0x5a, sizeof data);
    r.k("garbage", cuMemPoolImportPointer(&a, q, &data));
    r.k("untouched", a == 0);
  });
  add("poolipc.pointer_freed_by_exporter_first", ISO | SLOW, [](Rec& r) {
    Exporter p;
    ImportedPool q(p);
    auto data = exported_pointer(p);
    CUdeviceptr a = 0;
    OK(cuMemPoolImportPointer(&a, q, &data));
    r.k("exporter_frees", p.request("pool_free"));
    rec_word(r, "~word", a + 4);
    r.k("free", cuMemFree(a));
    CUdeviceptr b = 0;
    r.k("~import_freed", cuMemPoolImportPointer(&b, q, &data));
    if (b) r.k("~free_freed", cuMemFree(b));
  });
  add("poolipc.destroy_with_live_pointer", ISO | SLOW, [](Rec& r) {
    Exporter p;
    ImportedPool q(p);
    auto data = exported_pointer(p);
    CUdeviceptr a = 0;
    OK(cuMemPoolImportPointer(&a, q, &data));
    r.k("destroy", q.destroy());
    rec_word(r, "word", a + 4);
    CUmemoryPool of = nullptr;
    r.k("pool", cuPointerGetAttribute(&of, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, a));
    r.k("pool_null", of == nullptr);
    r.k("free", cuMemFree(a));
    r.k("exporter_frees", p.request("pool_free"));
    r.k("exporter_destroys", p.request("pool_destroy"));
  });
  add("poolipc.exporter_destroys_pool", ISO | SLOW, [](Rec& r) {
    Exporter p;
    ImportedPool q(p);
    auto data = exported_pointer(p);
    CUdeviceptr a = 0;
    OK(cuMemPoolImportPointer(&a, q, &data));
    r.k("exporter_destroys", p.request("pool_destroy"));
    rec_word(r, "word", a + 4);
    r.k("free", cuMemFree(a));
    r.k("exporter_frees", p.request("pool_free"));
  });
}

}  // namespace

void pool_import_cases() {
  pool_cases();
  import_pointer_cases();
}

}  // namespace weir::conformance
