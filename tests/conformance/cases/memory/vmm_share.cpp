// SPDX-License-Identifier: Apache-2.0
// cases/memory/vmm_share.cpp - allocations as file descriptors, and handles looked up by address.
#include "cases/memory/ranges.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace weir::conformance {
void vmm_share_cases() {
  add("vmm.export_errors", [](Rec& r) {
    Piece plain, shared(kGrain, FD);
    Fd fd;
    r.k("not_shareable", cuMemExportToShareableHandle(&fd.n, plain, FD, 0));
    r.k("null_out", cuMemExportToShareableHandle(nullptr, shared, FD, 0));
    r.k("null_handle", cuMemExportToShareableHandle(&fd.n, 0, FD, 0));
    r.k("flags1", cuMemExportToShareableHandle(&fd.n, shared, FD, 1));
    r.k("type0", cuMemExportToShareableHandle(&fd.n, shared, CU_MEM_HANDLE_TYPE_NONE, 0));
    r.k("win32", cuMemExportToShareableHandle(&fd.n, shared, CU_MEM_HANDLE_TYPE_WIN32, 0));
    r.k("fd_and_win32",
        cuMemExportToShareableHandle(&fd.n, shared, static_cast<CUmemAllocationHandleType>(3), 0));
    r.k("untouched", fd.n == -1);
  });
  add("vmm.export", [](Rec& r) {
    Piece m(kGrain, FD);
    Fd one, two;
    r.k("export", cuMemExportToShareableHandle(&one.n, m, FD, 0));
    r.k("is_open", one.is_open());
    r.k("again", cuMemExportToShareableHandle(&two.n, m, FD, 0));
    r.k("another_descriptor", one.n != two.n);
    r.k("~close_on_exec", (fcntl(one.n, F_GETFD) & FD_CLOEXEC) != 0);
  });
  add("vmm.import", [](Rec& r) {
    Mapped a(kGrain, FD);
    Range b;
    Fd fd;
    CUmemGenericAllocationHandle h = 0;
    OK(cuMemExportToShareableHandle(&fd.n, a.memory, FD, 0));
    r.k("import", cuMemImportFromShareableHandle(&h, fd.as_handle(), FD));
    if (!h) return;
    r.k("same_handle", h == a.memory.h);
    r.k("still_open", fd.is_open());
    CUmemAllocationProp prop{};
    r.k("properties", cuMemGetAllocationPropertiesFromHandle(&prop, h));
    r.k("type", static_cast<unsigned>(prop.type));
    r.k("handle_types", static_cast<unsigned>(prop.requestedHandleTypes));
    r.k("location", static_cast<unsigned>(prop.location.type));
    r.k("location_id", prop.location.id);
    r.k("map", cuMemMap(b, kGrain, 0, h, 0));
    r.k("access", open_access(b, kGrain));
    put_byte(a + 9, 81);
    r.k("seen", get_byte(b + 9));
    OK(a.memory.release());
    OK(cuMemUnmap(a, kGrain));
    r.k("seen_after_release", get_byte(b + 9));
    Fd again;
    r.k("export_imported", cuMemExportToShareableHandle(&again.n, h, FD, 0));
    r.k("release", cuMemRelease(h));
  });
  add("vmm.import_outlives", [](Rec& r) {
    Piece m(kGrain, FD);
    Fd fd;
    CUmemGenericAllocationHandle h = 0;
    OK(cuMemExportToShareableHandle(&fd.n, m, FD, 0));
    OK(m.release());
    r.k("import", cuMemImportFromShareableHandle(&h, fd.as_handle(), FD));
    if (h) r.k("release", cuMemRelease(h));
  });
  add("vmm.import_errors", [](Rec& r) {
    Piece m(kGrain, FD);
    Fd fd, null_device(open("/dev/null", O_RDWR | O_CLOEXEC)),
        plain(memfd_create("plain", MFD_CLOEXEC));
    CUmemGenericAllocationHandle h = 0;
    OK(cuMemExportToShareableHandle(&fd.n, m, FD, 0));
    r.k("null_out", cuMemImportFromShareableHandle(nullptr, fd.as_handle(), FD));
    r.k("type0", cuMemImportFromShareableHandle(&h, fd.as_handle(), CU_MEM_HANDLE_TYPE_NONE));
    r.k("win32", cuMemImportFromShareableHandle(&h, fd.as_handle(), CU_MEM_HANDLE_TYPE_WIN32));
    r.k("closed", cuMemImportFromShareableHandle(&h, reinterpret_cast<void*>(intptr_t{9999}), FD));
    r.k("negative", cuMemImportFromShareableHandle(&h, reinterpret_cast<void*>(intptr_t{-1}), FD));
    r.k("dev_null", cuMemImportFromShareableHandle(&h, null_device.as_handle(), FD));
    r.k("empty_memfd", cuMemImportFromShareableHandle(&h, plain.as_handle(), FD));
    r.k("untouched", h == 0);
  });
  add("vmm.retain", [](Rec& r) {
    Mapped a;
    Range b;
    CUmemGenericAllocationHandle h = 0;
    auto at = [](CUdeviceptr p) { return reinterpret_cast<void*>(p); };
    r.k("null_out", cuMemRetainAllocationHandle(nullptr, at(a)));
    r.k("null", cuMemRetainAllocationHandle(&h, nullptr));
    r.k("reserved", cuMemRetainAllocationHandle(&h, at(b)));
    r.k("device_memory", cuMemRetainAllocationHandle(&h, at(g.dbuf)));
    r.k("pinned", cuMemRetainAllocationHandle(&h, g.pin));
    r.k("pageable", cuMemRetainAllocationHandle(&h, g.page));
    r.k("mapped", cuMemRetainAllocationHandle(&h, at(a)));
    r.k("same_handle", h == a.memory.h);
    r.k("release", cuMemRelease(h));
    h = 0;
    r.k("inner", cuMemRetainAllocationHandle(&h, at(a + kGrain - 1)));
    r.k("inner_same_handle", h == a.memory.h);
    OK(a.memory.release());
    OK(cuMemUnmap(a, kGrain));
    r.k("map_retained", cuMemMap(a, kGrain, 0, h, 0));
    r.k("release_last", cuMemRelease(h));
  });
  add("vmm.retain_released", [](Rec& r) {
    Mapped a;
    CUmemGenericAllocationHandle h = 0;
    OK(a.memory.release());
    r.k("retain", cuMemRetainAllocationHandle(&h, reinterpret_cast<void*>(a.va.p)));
    if (h) r.k("release", cuMemRelease(h));
  });
  add("vmm.range_handle", [](Rec& r) {
    int can = 0;
    OK(cuDeviceGetAttribute(&can, CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED, g.dev));
    r.k("~attribute", can);
    DevMem d(kGrain);
    Mapped a;
    Fd one, two;
    constexpr auto kind = CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD;
    r.k("null_out", cuMemGetHandleForAddressRange(nullptr, d, kGrain, kind, 0));
    r.k("type0",
        cuMemGetHandleForAddressRange(&one.n, d, kGrain, static_cast<CUmemRangeHandleType>(0), 0));
    r.k("size0", cuMemGetHandleForAddressRange(&one.n, d, 0, kind, 0));
    r.k("unaligned", cuMemGetHandleForAddressRange(&one.n, d + 100, 4096, kind, 0));
    r.k("flags8", cuMemGetHandleForAddressRange(&one.n, d, kGrain, kind, 8));
    r.k("pageable", cuMemGetHandleForAddressRange(&one.n, reinterpret_cast<CUdeviceptr>(g.page),
                                                  4096, kind, 0));
    r.k("~device_memory", cuMemGetHandleForAddressRange(&one.n, d, kGrain, kind, 0));
    r.k("~mapped", cuMemGetHandleForAddressRange(&two.n, a, kGrain, kind, 0));
  });
}

}  // namespace weir::conformance
