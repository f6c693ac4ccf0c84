// SPDX-License-Identifier: Apache-2.0
// cases/memory/extmem.cpp - external memory, by file descriptor.
#include "cases/memory/ranges.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

namespace weir::conformance {
namespace {

// Returns a descriptor of a shareable allocation. An import takes ownership of it.
int exported_fd(CUmemGenericAllocationHandle h) {
  int fd = -1;
  OK(cuMemExportToShareableHandle(&fd, h, FD, 0));
  return fd;
}

CUDA_EXTERNAL_MEMORY_HANDLE_DESC by_fd(int fd, size_t size = kGrain) {
  CUDA_EXTERNAL_MEMORY_HANDLE_DESC desc{};
  desc.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
  desc.handle.fd = fd;
  desc.size = size;
  return desc;
}

CUDA_EXTERNAL_MEMORY_BUFFER_DESC part(size_t offset, size_t size) {
  CUDA_EXTERNAL_MEMORY_BUFFER_DESC desc{};
  desc.offset = offset;
  desc.size = size;
  return desc;
}

// An allocation, its mapping, and an import of that memory.
struct ImportedMemory {
  Mapped own{2 * kGrain, FD};
  int fd = exported_fd(own.memory);
  CUexternalMemory memory = nullptr;

  ImportedMemory() {
    const CUDA_EXTERNAL_MEMORY_HANDLE_DESC desc = by_fd(fd, 2 * kGrain);
    OK(cuImportExternalMemory(&memory, &desc));
  }
  ~ImportedMemory() {
    if (memory) cuDestroyExternalMemory(memory);
  }
  CUresult destroy() { return cuDestroyExternalMemory(std::exchange(memory, nullptr)); }
};

CUresult map(CUdeviceptr* p, CUexternalMemory memory,
             const CUDA_EXTERNAL_MEMORY_BUFFER_DESC& desc) {
  return cuExternalMemoryGetMappedBuffer(p, memory, &desc);
}

// Imports the described memory, records the result, and destroys the import.
void rec_memory_import(Rec& r, const std::string& key,
                       const CUDA_EXTERNAL_MEMORY_HANDLE_DESC& desc) {
  CUexternalMemory memory = nullptr;
  if (r.k(key, cuImportExternalMemory(&memory, &desc)) == CUDA_SUCCESS)
    OK(cuDestroyExternalMemory(memory));
}

// Like rec_memory_import, with a descriptor that has no other owner: it is closed if the import
// fails.
void rec_memory_import_only(Rec& r, const std::string& key,
                            const CUDA_EXTERNAL_MEMORY_HANDLE_DESC& desc) {
  Fd fd(desc.handle.fd);
  CUexternalMemory memory = nullptr;
  if (r.k(key, cuImportExternalMemory(&memory, &desc)) != CUDA_SUCCESS) return;
  fd.n = -1;
  OK(cuDestroyExternalMemory(memory));
}

}  // namespace

void extmem_cases() {
  add("extmem.import", [](Rec& r) {
    Mapped own(kGrain, FD);
    Fd fd(exported_fd(own.memory));
    CUexternalMemory memory = nullptr;
    CUdeviceptr p = 0;
    const CUDA_EXTERNAL_MEMORY_HANDLE_DESC desc = by_fd(fd.n);
    if (r.k("import", cuImportExternalMemory(&memory, &desc)) != CUDA_SUCCESS) return;
    r.k("descriptor_taken", !fd.is_open());
    fd.n = -1;
    r.k("map", map(&p, memory, part(0, kGrain)));
    put_byte(own + 100, 91);
    r.k("seen", get_byte(p + 100));
    r.k("free", cuMemFree(p));
    r.k("destroy", cuDestroyExternalMemory(memory));
  });
  add("extmem.import_errors", [](Rec& r) {
    Piece own(kGrain, FD);
    CUexternalMemory memory = nullptr;
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC desc = by_fd(-1);
    r.k("null_out", cuImportExternalMemory(nullptr, &desc));
    r.k("null_descriptor", cuImportExternalMemory(&memory, nullptr));
    rec_memory_import(r, "negative", desc);
    rec_memory_import(r, "closed", by_fd(9999));
    Fd null_device(open("/dev/null", O_RDWR | O_CLOEXEC)),
        plain(memfd_create("plain", MFD_CLOEXEC));
    if (ftruncate(plain.n, static_cast<off_t>(kGrain)) != 0) return;
    rec_memory_import(r, "dev_null", by_fd(null_device.n));
    desc = by_fd(plain.n);
    if (r.k("~memfd", cuImportExternalMemory(&memory, &desc)) != CUDA_SUCCESS) return;
    plain.n = -1;
    OK(cuDestroyExternalMemory(memory));
  });
  add("extmem.refused_descriptor", [](Rec& r) {
    struct stat was {};
    Fd null_device(open("/dev/null", O_RDWR | O_CLOEXEC)),
        plain(memfd_create("plain", MFD_CLOEXEC));
    const std::pair<const char*, int> refused[] = {{"dev_null", null_device.n}, {"memfd", plain.n}};
    for (auto& [name, fd] : refused) {
      const std::string key = name;
      CUexternalMemory memory = nullptr;
      const CUDA_EXTERNAL_MEMORY_HANDLE_DESC desc = by_fd(fd);
      r.k(key + ".open_before", fstat(fd, &was) == 0);
      if (r.k("~" + key, cuImportExternalMemory(&memory, &desc)) == CUDA_SUCCESS) return;
      r.k("~" + key + ".open_after", fstat(fd, &was) == 0);
    }
  });
  add("extmem.buffer_beyond_object", [](Rec& r) {
    Piece own(kGrain, FD);
    Fd fd(exported_fd(own));
    CUexternalMemory memory = nullptr;
    CUdeviceptr p = 0;
    const CUDA_EXTERNAL_MEMORY_HANDLE_DESC desc = by_fd(fd.n, 4 * kGrain);
    if (r.k("import", cuImportExternalMemory(&memory, &desc)) != CUDA_SUCCESS) return;
    fd.n = -1;
    if (r.k("beyond", map(&p, memory, part(kGrain, kGrain))) == CUDA_SUCCESS) cuMemFree(p);
    if (r.k("across", map(&p, memory, part(0, 2 * kGrain))) == CUDA_SUCCESS) cuMemFree(p);
    if (r.k("within", map(&p, memory, part(0, kGrain))) == CUDA_SUCCESS) cuMemFree(p);
    r.k("destroy", cuDestroyExternalMemory(memory));
  });
  add("extmem.import_sizes", [](Rec& r) {
    Piece own(kGrain, FD);
    rec_memory_import_only(r, "size0", by_fd(exported_fd(own), 0));
    rec_memory_import_only(r, "smaller", by_fd(exported_fd(own), 4096));
    rec_memory_import_only(r, "larger", by_fd(exported_fd(own), 2 * kGrain));
    rec_memory_import_only(r, "odd", by_fd(exported_fd(own), kGrain - 1));
  });
  add("extmem.import_types", [](Rec& r) {
    Piece own(kGrain, FD);
    for (unsigned type : {0u, 2u, 3u, 4u, 5u, 6u, 7u, 8u, 9u, 10u}) {
      CUDA_EXTERNAL_MEMORY_HANDLE_DESC desc = by_fd(-1);
      desc.type = static_cast<CUexternalMemoryHandleType>(type);
      desc.handle.win32 = {};
      rec_memory_import(r, "t" + std::to_string(type), desc);
    }
  });
  add("extmem.import_flags", [](Rec& r) {
    Piece own(kGrain, FD);
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC desc = by_fd(exported_fd(own));
    desc.flags = CUDA_EXTERNAL_MEMORY_DEDICATED;
    rec_memory_import_only(r, "dedicated", desc);
    desc = by_fd(exported_fd(own));
    desc.flags = 2;
    rec_memory_import_only(r, "flags2", desc);
    desc = by_fd(exported_fd(own));
    desc.reserved[15] = 1;
    rec_memory_import_only(r, "reserved", desc);
  });
  add("extmem.import_twice", [](Rec& r) {
    Piece own(kGrain, FD);
    CUexternalMemory one = nullptr, two = nullptr;
    const CUDA_EXTERNAL_MEMORY_HANDLE_DESC first = by_fd(exported_fd(own)),
                                           second = by_fd(exported_fd(own));
    r.k("one", cuImportExternalMemory(&one, &first));
    r.k("two", cuImportExternalMemory(&two, &second));
    r.k("differ", one != two);
    if (one) r.k("destroy_one", cuDestroyExternalMemory(one));
    if (two) r.k("destroy_two", cuDestroyExternalMemory(two));
  });
  add("extmem.buffers", [](Rec& r) {
    ImportedMemory m;
    CUdeviceptr whole = 0, back = 0, again = 0;
    r.k("whole", map(&whole, m.memory, part(0, 2 * kGrain)));
    r.k("back", map(&back, m.memory, part(kGrain, kGrain)));
    r.k("again", map(&again, m.memory, part(0, 2 * kGrain)));
    put_byte(m.own + kGrain, 92);
    if (back) r.k("back_sees", get_byte(back));
    if (whole) r.k("whole_sees", get_byte(whole + kGrain));
    r.k("same_address", whole == again);
    if (whole) r.k("free_whole", cuMemFree(whole));
    if (back) r.k("free_back", cuMemFree(back));
    if (again) r.k("free_again", cuMemFree(again));
  });
  add("extmem.buffer_errors", [](Rec& r) {
    ImportedMemory m;
    CUdeviceptr p = 0;
    auto rec = [&](const std::string& key, const CUDA_EXTERNAL_MEMORY_BUFFER_DESC& desc) {
      p = 0;
      if (r.k(key, map(&p, m.memory, desc)) == CUDA_SUCCESS && p) cuMemFree(p);
    };
    const CUDA_EXTERNAL_MEMORY_BUFFER_DESC good = part(0, kGrain);
    r.k("null_out", cuExternalMemoryGetMappedBuffer(nullptr, m.memory, &good));
    r.k("null_descriptor", cuExternalMemoryGetMappedBuffer(&p, m.memory, nullptr));
    rec("size0", part(0, 0));
    rec("beyond", part(0, 4 * kGrain));
    rec("offset_beyond", part(2 * kGrain, kGrain));
    rec("offset_page", part(4096, 4096));
    rec("offset_odd", part(100, 100));
    rec("size_odd", part(0, 100));
    CUDA_EXTERNAL_MEMORY_BUFFER_DESC desc = good;
    desc.flags = 1;
    rec("flags1", desc);
    desc = good;
    desc.reserved[0] = 1;
    rec("reserved", desc);
  });
  add("extmem.buffer_attributes", [](Rec& r) {
    ImportedMemory m;
    CUdeviceptr p = 0, start = 0;
    OK(map(&p, m.memory, part(kGrain, kGrain)));
    unsigned type = 9, managed = 9, mapped = 9, ipc = 9, access = 9;
    int ordinal = -9;
    size_t size = 0;
    CUcontext context = nullptr;
    unsigned long long handles = 99;
    r.k("type", cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p));
    r.k("type_value", type);
    r.k("context", cuPointerGetAttribute(&context, CU_POINTER_ATTRIBUTE_CONTEXT, p));
    r.k("context_kind", !context ? "null" : context == g.ctx ? "current" : "other");
    r.k("ordinal", cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, p));
    r.k("ordinal_value", ordinal);
    r.k("managed", cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, p));
    r.k("managed_value", managed & 0xff);
    r.k("mapped", cuPointerGetAttribute(&mapped, CU_POINTER_ATTRIBUTE_MAPPED, p));
    r.k("mapped_value", mapped & 0xff);
    r.k("ipc", cuPointerGetAttribute(&ipc, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, p));
    r.k("ipc_value", ipc & 0xff);
    r.k("handles", cuPointerGetAttribute(&handles, CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES, p));
    r.k("handles_value", handles);
    r.k("access", cuPointerGetAttribute(&access, CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, p));
    r.k("access_value", access);
    r.k("address_range", cuMemGetAddressRange(&start, &size, p + 100));
    r.k("base_offset", static_cast<unsigned long long>(p + 100 - start));
    r.k("base_size", size);
    r.k("free", cuMemFree(p));
    r.k("free_again", cuMemFree(p));
  });
  add("extmem.free_inner", [](Rec& r) {
    ImportedMemory m;
    CUdeviceptr p = 0;
    OK(map(&p, m.memory, part(0, kGrain)));
    r.k("inner", cuMemFree(p + 256));
    r.k("free_async", cuMemFreeAsync(p, LEGACY));
    OK(cuCtxSynchronize());
  });
  add("extmem.destroy_before_free", ISO, [](Rec& r) {
    ImportedMemory m;
    CUdeviceptr p = 0;
    OK(map(&p, m.memory, part(0, kGrain)));
    r.k("destroy", m.destroy());
    unsigned type = 9;
    r.k("type", cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p));
    r.k("free", cuMemFree(p));
  });
  add("extmem.outlives_exporter", [](Rec& r) {
    ImportedMemory m;
    CUdeviceptr p = 0;
    put_byte(m.own, 93);
    OK(cuMemUnmap(m.own, 2 * kGrain));
    OK(m.own.memory.release());
    r.k("map", map(&p, m.memory, part(0, kGrain)));
    if (!p) return;
    r.k("kept", get_byte(p));
    OK(cuMemFree(p));
  });
  add("extmem.destroy_null", [](Rec& r) { r.k("res", cuDestroyExternalMemory(nullptr)); });
  add("extmem.null_memory", ISO, [](Rec& r) {
    CUdeviceptr p = 0;
    r.k("res", map(&p, nullptr, part(0, kGrain)));
  });
  add("extmem.destroy_twice", ISO, [](Rec& r) {
    ImportedMemory m;
    const CUexternalMemory was = m.memory;
    CUdeviceptr p = 0;
    r.k("once", m.destroy());
    r.k("map", map(&p, was, part(0, kGrain)));
    r.k("twice", cuDestroyExternalMemory(was));
  });
  add("extmem.in_capture", [](Rec& r) {
    Piece own(kGrain, FD);
    CUexternalMemory memory = nullptr;
    CUdeviceptr p = 0;
    const CUDA_EXTERNAL_MEMORY_HANDLE_DESC desc = by_fd(exported_fd(own));
    rec_in_capture(r, "import", [&] { return cuImportExternalMemory(&memory, &desc); });
    if (!memory) OK(cuImportExternalMemory(&memory, &desc));
    rec_in_capture(r, "map", [&] { return map(&p, memory, part(0, kGrain)); });
    if (!p) OK(map(&p, memory, part(0, kGrain)));
    rec_in_capture(r, "free", [&] { return cuMemFree(p); });
    rec_in_capture(r, "destroy", [&] { return cuDestroyExternalMemory(memory); });
  });
  add("extmem.in_capture_relaxed_thread", ISO, [](Rec& r) {
    Piece own(kGrain, FD);
    CUexternalMemory memory = nullptr;
    CUdeviceptr p = 0;
    const CUDA_EXTERNAL_MEMORY_HANDLE_DESC desc = by_fd(exported_fd(own));
    const auto rec = [&](const std::string& key, const std::function<CUresult()>& call) {
      rec_in_capture(r, key, [&] {
        const ThreadMode relaxed(RELAXED);
        return call();
      });
    };
    rec("import", [&] { return cuImportExternalMemory(&memory, &desc); });
    if (!memory) OK(cuImportExternalMemory(&memory, &desc));
    OK(map(&p, memory, part(0, kGrain)));
    rec("free", [&] { return cuMemFree(p); });
    rec("destroy", [&] { return cuDestroyExternalMemory(memory); });
  });
  add("extmem.no_context", [](Rec& r) {
    Piece own(kGrain, FD);
    CUexternalMemory memory = nullptr;
    const CUDA_EXTERNAL_MEMORY_HANDLE_DESC desc = by_fd(exported_fd(own));
    on_thread(
        [&] {
          r.k("import", cuImportExternalMemory(&memory, &desc));
          r.k("destroy_null", cuDestroyExternalMemory(nullptr));
        },
        false);
    if (memory) OK(cuDestroyExternalMemory(memory));
  });
}

}  // namespace weir::conformance
