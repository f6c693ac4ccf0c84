// SPDX-License-Identifier: Apache-2.0
// cases/sync/extsem.cpp - external semaphores, as far as possible without a graphics API that
// creates one.
#include "cases/stream/inside.hpp"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

namespace weir::conformance {
namespace {

CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC desc(unsigned type, int fd) {
  CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC d;
  memset(&d, 0, sizeof d);
  d.type = static_cast<CUexternalSemaphoreHandleType>(type);
  d.handle.fd = fd;
  return d;
}

// Imports a file descriptor that is not a semaphore, and records whether the caller still owns it.
void rec_semaphore_import(Rec& r, const std::string& key, unsigned type, int fd) {
  CUexternalSemaphore out = nullptr;
  const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC d = desc(type, fd);
  if (r.k(key, cuImportExternalSemaphore(&out, &d)) == CUDA_SUCCESS) {
    r.k(key + ".destroy", cuDestroyExternalSemaphore(out));
    return;
  }
  r.k(key + ".open", fcntl(fd, F_GETFD) >= 0);
  close(fd);
}

}  // namespace

void extsem_cases() {
  add("extsem.import_types", [](Rec& r) {
    CUexternalSemaphore out = nullptr;
    for (unsigned type : {0u, 2u, 3u, 4u, 5u, 7u, 8u, 10u, 11u, 99u, 0xffffffffu}) {
      CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC d = desc(type, 0);
      r.k("t" + std::to_string(type), cuImportExternalSemaphore(&out, &d));
    }
    r.k("kept_null", out == nullptr);
  });
  add("extsem.import_nvscisync", ISO, [](Rec& r) {
    CUexternalSemaphore out = nullptr;
    CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC d = desc(CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_NVSCISYNC, 0);
    r.k("null_object", cuImportExternalSemaphore(&out, &d));
  });
  for (unsigned type : {1u, 9u}) {
    const std::string name = type == 1 ? "opaque" : "timeline";
    add("extsem.import_" + name + "_bad_fd", [type](Rec& r) {
      CUexternalSemaphore out = nullptr;
      for (int fd : {-1, -100, 999}) {
        CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC d = desc(type, fd);
        r.k("fd" + std::to_string(fd), cuImportExternalSemaphore(&out, &d));
      }
      CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC d = desc(type, -1);
      d.flags = 1;
      r.k("flags1", cuImportExternalSemaphore(&out, &d));
      d.flags = 0;
      d.reserved[0] = 1;
      r.k("reserved", cuImportExternalSemaphore(&out, &d));
      r.k("kept_null", out == nullptr);
    });
    add("extsem.import_" + name + "_foreign_fd", ISO, [type](Rec& r) {
      const int mem = memfd_create("weir-probe", 0);
      if (ftruncate(mem, 4096) != 0) throw Abort{"ftruncate"};
      rec_semaphore_import(r, "memfd", type, mem);
      rec_semaphore_import(r, "eventfd", type, eventfd(0, 0));
      rec_semaphore_import(r, "file", type, open("/dev/null", O_RDWR));
      int ends[2];
      if (pipe(ends) != 0) throw Abort{"pipe"};
      rec_semaphore_import(r, "pipe", type, ends[0]);
      close(ends[1]);
    });
  }
  add("extsem.import_null_out", ISO, [](Rec& r) {
    const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC d = desc(1, -1);
    r.k("res", cuImportExternalSemaphore(nullptr, &d));
  });
  add("extsem.import_null_desc", ISO, [](Rec& r) {
    CUexternalSemaphore out = nullptr;
    r.k("res", cuImportExternalSemaphore(&out, nullptr));
  });
  add("extsem.import_without_context", RAW, [](Rec& r) {
    CUexternalSemaphore out = nullptr;
    const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC d = desc(1, -1);
    r.k("before_init", cuImportExternalSemaphore(&out, &d));
    init_device();
    r.k("no_context", cuImportExternalSemaphore(&out, &d));
    r.k("destroy_no_context", cuDestroyExternalSemaphore(nullptr));
    r.k("signal_no_context", cuSignalExternalSemaphoresAsync(nullptr, nullptr, 0, nullptr));
    r.k("wait_no_context", cuWaitExternalSemaphoresAsync(nullptr, nullptr, 0, nullptr));
  });

  add("extsem.none", [](Rec& r) {
    Stream s(NB);
    r.k("signal", cuSignalExternalSemaphoresAsync(nullptr, nullptr, 0, s));
    r.k("wait", cuWaitExternalSemaphoresAsync(nullptr, nullptr, 0, s));
    CUexternalSemaphore sem = nullptr;
    CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS signal{};
    CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS wait{};
    r.k("signal_arrays", cuSignalExternalSemaphoresAsync(&sem, &signal, 0, s));
    r.k("wait_arrays", cuWaitExternalSemaphoresAsync(&sem, &wait, 0, s));
    r.k("signal_null_stream", cuSignalExternalSemaphoresAsync(nullptr, nullptr, 0, nullptr));
    r.k("wait_per_thread", cuWaitExternalSemaphoresAsync(nullptr, nullptr, 0, PER_THREAD));
    r.k("sync", cuStreamSynchronize(s));
  });
  add("extsem.signal_null_arrays", ISO, [](Rec& r) {
    Stream s(NB);
    CUexternalSemaphore sem = nullptr;
    r.k("both", cuSignalExternalSemaphoresAsync(nullptr, nullptr, 1, s));
    r.k("params", cuSignalExternalSemaphoresAsync(&sem, nullptr, 1, s));
  });
  add("extsem.wait_null_arrays", ISO, [](Rec& r) {
    Stream s(NB);
    CUexternalSemaphore sem = nullptr;
    r.k("both", cuWaitExternalSemaphoresAsync(nullptr, nullptr, 1, s));
    r.k("params", cuWaitExternalSemaphoresAsync(&sem, nullptr, 1, s));
  });
  add("extsem.signal_null_semaphore", ISO, [](Rec& r) {
    Stream s(NB);
    CUexternalSemaphore sem = nullptr;
    CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS p{};
    r.k("res", cuSignalExternalSemaphoresAsync(&sem, &p, 1, s));
  });
  add("extsem.wait_null_semaphore", ISO, [](Rec& r) {
    Stream s(NB);
    CUexternalSemaphore sem = nullptr;
    CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS p{};
    r.k("res", cuWaitExternalSemaphoresAsync(&sem, &p, 1, s));
  });
  add("extsem.destroy_null", ISO, [](Rec& r) { r.k("res", cuDestroyExternalSemaphore(nullptr)); });

  add("extsem.while_capturing", ISO, [](Rec& r) {
    Stream s(NB), t(NB);
    const auto during = [&](const char* key, const std::function<CUresult()>& call) {
      begin(s);
      lab(s, "a");
      r.k(key, call());
      r.k(std::string(key) + ".status", capture_status(s));
      rec_end(r, std::string(key) + ".end", s);
    };
    during("signal_none", [&] { return cuSignalExternalSemaphoresAsync(nullptr, nullptr, 0, s); });
    during("wait_none", [&] { return cuWaitExternalSemaphoresAsync(nullptr, nullptr, 0, s); });
    during("signal_none_elsewhere",
           [&] { return cuSignalExternalSemaphoresAsync(nullptr, nullptr, 0, t); });
    during("import", [&] {
      CUexternalSemaphore out = nullptr;
      const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC d = desc(1, -1);
      return cuImportExternalSemaphore(&out, &d);
    });
    during("import_bad_type", [&] {
      CUexternalSemaphore out = nullptr;
      const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC d = desc(99, -1);
      return cuImportExternalSemaphore(&out, &d);
    });
  });

  add("extsem.inside.import", ISO | SLOW, [](Rec& r) {
    run_inside(r, "hostfn", [](InsideEnv&) {
      CUexternalSemaphore out = nullptr;
      const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC d = desc(1, -1);
      return cuImportExternalSemaphore(&out, &d);
    });
  });
  add("extsem.inside.signal_none", ISO | SLOW, [](Rec& r) {
    run_inside(r, "hostfn", [](InsideEnv& env) {
      return cuSignalExternalSemaphoresAsync(nullptr, nullptr, 0, env.other);
    });
  });
}

}  // namespace weir::conformance
