// SPDX-License-Identifier: Apache-2.0
// cases/sync/memop_words.cpp - stream memory operations: valid words, flags and comparisons.
#include "probe/probe.hpp"

#include <cstring>
#include <utility>

namespace weir::conformance {
namespace {

// A word and a value for which every comparison holds: equal, a common bit, and not all ones.
constexpr uint32_t kAlways = 5;

// A satisfied wait and a write of the current value, 32 and 64 bits wide, at one address.
void rec_word(Rec& r, const std::string& key, CUstream s, CUdeviceptr at) {
  r.k(key + ".wait32", cuStreamWaitValue32(s, at, 0, CU_STREAM_WAIT_VALUE_GEQ));
  r.k(key + ".wait64", cuStreamWaitValue64(s, at, 0, CU_STREAM_WAIT_VALUE_GEQ));
  r.k(key + ".write32", cuStreamWriteValue32(s, at, 0, 0));
  r.k(key + ".write64", cuStreamWriteValue64(s, at, 0, 0));
}

}  // namespace

void memop_words_cases() {
  add("memop.wait_flag_bits", [](Rec& r) {
    Stream s(NB);
    Cell c = new_cell(kAlways);
    for (unsigned f : {0u, 1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u, 16u, 0x40000000u, 0x40000001u,
                       0x40000003u, 0x40000004u, 0x80000000u, 0x80000001u, 0xffffffffu}) {
      r.k("f" + std::to_string(f) + ".wait32", cuStreamWaitValue32(s, c.d, kAlways, f));
      r.k("f" + std::to_string(f) + ".wait64", cuStreamWaitValue64(s, c.d, kAlways, f));
    }
    r.k("sync", cuStreamSynchronize(s));
  });
  add("memop.write_flag_bits", [](Rec& r) {
    Stream s(NB);
    Cell c = new_cell();
    for (unsigned f : {0u, 1u, 2u, 3u, 4u, 0x40000000u, 0x80000000u, 0xffffffffu}) {
      r.k("f" + std::to_string(f) + ".write32", cuStreamWriteValue32(s, c.d, 1, f));
      r.k("f" + std::to_string(f) + ".write64", cuStreamWriteValue64(s, c.d, 1, f));
    }
    r.k("sync", cuStreamSynchronize(s));
  });
  add("memop.alignment", [](Rec& r) {
    Stream s(NB);
    Cell c = new_cell();
    for (unsigned off : {1u, 2u, 3u, 4u, 5u, 6u, 7u})
      rec_word(r, "off" + std::to_string(off), s, c.d + off);
    r.k("sync", cuStreamSynchronize(s));
  });
  add("memop.cyclic64", [](Rec& r) {
    // A value that satisfies every comparison releases blocked waits.
    Stream s(NB);
    const struct {
      const char* n;
      uint64_t start, value, release;
    } all[] = {{"zero_vs_minus_one", 0, ~0ull, 0},
               {"half_range", 1ull << 63, 0, 1},
               {"minus_one_vs_zero", ~0ull, 0, 0},
               {"bit32_vs_one", 1ull << 32, 1, 1ull << 32},
               {"one_vs_bit32", 1, 1ull << 32, 1ull << 32}};
    for (auto& x : all) {
      Cell c = new_cell(x.start), m = new_cell();
      const uint64_t release = x.release;
      on_release([c, release] { c.set64(release); });
      r.k(x.n, cuStreamWaitValue64(s, c.d, x.value, CU_STREAM_WAIT_VALUE_GEQ));
      mark(s, m);
      r.k(std::string(x.n) + ".held", !early(m));
      c.set64(x.release);
      r.k(std::string(x.n) + ".let_go", late(m));
      OK(cuStreamSynchronize(s));
    }
  });
  add("memop.wait32_ignores_neighbour", [](Rec& r) {
    Stream s(NB);
    Cell c = new_cell(0xffffffff00000005ull), m = new_cell();
    on_release([c] { c.set64(5); });
    r.k("eq_low", cuStreamWaitValue32(s, c.d, 5, CU_STREAM_WAIT_VALUE_EQ));
    r.k("eq_high", cuStreamWaitValue32(s, c.d + 4, 0xffffffffu, CU_STREAM_WAIT_VALUE_EQ));
    mark(s, m);
    r.k("passed", late(m));
  });
  add("memop.pinned_kinds", [](Rec& r) {
    Stream s(NB);
    for (unsigned f : {0u, 1u, 2u, 4u, 7u}) {
      void* h = nullptr;
      OK(cuMemHostAlloc(&h, 4096, f));
      memset(h, 0, 4096);
      rec_word(r, "f" + std::to_string(f), s, reinterpret_cast<CUdeviceptr>(h));
      rec_word(r, "f" + std::to_string(f) + ".last4", s, reinterpret_cast<CUdeviceptr>(h) + 4092);
      rec_word(r, "f" + std::to_string(f) + ".last8", s, reinterpret_cast<CUdeviceptr>(h) + 4088);
      r.k("f" + std::to_string(f) + ".sync", cuStreamSynchronize(s));
      cuMemFreeHost(h);
    }
  });
  add("memop.registered_kinds", [](Rec& r) {
    alignas(4096) static unsigned char page[3][4096];
    memset(page, 0, sizeof page);
    Stream s(NB);
    for (unsigned f : {0u, 1u, 2u, 3u}) {
      const std::string k = "f" + std::to_string(f);
      OK(cuMemHostRegister(page[1], 4096, f));
      rec_word(r, k, s, reinterpret_cast<CUdeviceptr>(page[1]));
      rec_word(r, k + ".last4", s, reinterpret_cast<CUdeviceptr>(page[1]) + 4092);
      rec_word(r, k + ".before", s, reinterpret_cast<CUdeviceptr>(page[1]) - 8);
      rec_word(r, k + ".behind", s, reinterpret_cast<CUdeviceptr>(page[2]));
      r.k(k + ".sync", cuStreamSynchronize(s));
      OK(cuMemHostUnregister(page[1]));
    }
    rec_word(r, "unregistered", s, reinterpret_cast<CUdeviceptr>(page[1]));
    r.k("sync", cuStreamSynchronize(s));
  });
  add("memop.registered_part_of_a_page", [](Rec& r) {
    alignas(4096) static unsigned char page[4096];
    memset(page, 0, sizeof page);
    Stream s(NB);
    OK(cuMemHostRegister(page + 1024, 1000, 0));
    rec_word(r, "inside", s, reinterpret_cast<CUdeviceptr>(page) + 1024);
    rec_word(r, "same_page_before", s, reinterpret_cast<CUdeviceptr>(page));
    rec_word(r, "same_page_behind", s, reinterpret_cast<CUdeviceptr>(page) + 3072);
    r.k("sync", cuStreamSynchronize(s));
    OK(cuMemHostUnregister(page + 1024));
  });
  add("memop.managed_kinds", [](Rec& r) {
    for (unsigned f : {1u, 2u}) {
      CUdeviceptr m = 0;
      OK(cuMemAllocManaged(&m, 4096, f));
      memset(reinterpret_cast<void*>(m), 0, 64);
      {
        Stream s(NB);
        rec_word(r, "f" + std::to_string(f), s, m);
        r.k("f" + std::to_string(f) + ".sync", cuStreamSynchronize(s));
      }
      cuMemFree(m);
    }
  });
  add("memop.pooled_memory", [](Rec& r) {
    Stream s(NB);
    CUdeviceptr p = 0;
    OK(cuMemAllocAsync(&p, 4096, s));
    OK(cuMemsetD8Async(p, 0, 4096, s));
    rec_word(r, "start", s, p);
    rec_word(r, "last4", s, p + 4092);
    r.k("sync", cuStreamSynchronize(s));
    OK(cuMemFreeAsync(p, s));
    OK(cuStreamSynchronize(s));
  });
  add("memop.device_edges", ISO, [](Rec& r) {
    Stream s(NB);
    DevMem d(4096);
    OK(cuMemsetD8(d, 0, 4096));
    OK(cuCtxSynchronize());
    rec_word(r, "last4", s, d.p + 4092);
    rec_word(r, "last8", s, d.p + 4088);
    r.k("sync", cuStreamSynchronize(s));
  });
  add("memop.small_allocation", ISO, [](Rec& r) {
    // An 8-byte write where the program uses four bytes.
    Stream s(NB);
    DevMem d(4);
    OK(cuMemsetD32(d, 0, 1));
    OK(cuCtxSynchronize());
    rec_word(r, "word", s, d);
    r.k("sync", cuStreamSynchronize(s));
  });
  add("memop.freed_memory", ISO, [](Rec& r) {
    Stream s(NB);
    CUdeviceptr p = 0;
    OK(cuMemAlloc(&p, 64 << 20));
    OK(cuMemFree(p));
    r.k("wait32", cuStreamWaitValue32(s, p, 0, CU_STREAM_WAIT_VALUE_GEQ));
    r.k("write32", cuStreamWriteValue32(s, p, 0, 0));
  });
  add("memop.two_waiters", [](Rec& r) {
    Stream s(NB), t(NB), u(NB);
    Cell c = new_cell(), m = new_cell(), n = new_cell();
    on_release([c] { c.set(2); });
    OK(cuStreamWaitValue32(s, c.d, 1, CU_STREAM_WAIT_VALUE_GEQ));
    mark(s, m);
    OK(cuStreamWaitValue32(t, c.d, 2, CU_STREAM_WAIT_VALUE_GEQ));
    mark(t, n);
    OK(cuStreamWriteValue32(u, c.d, 1, 0));
    r.k("first", late(m));
    r.k("second_held", !early(n));
    OK(cuStreamWriteValue32(u, c.d, 2, 0));
    r.k("second", late(n));
  });
  add("memop.released_by_other_work", [](Rec& r) {
    // Other writes of the word: memsets and copies of another stream, in device memory.
    Stream s(NB), t(NB);
    DevMem d(256);
    const CUdeviceptr p = d;
    on_release([p] { cuMemsetD32Async(p, 0x7fffffffu, 1, PER_THREAD); });
    auto round = [&](const char* n, uint32_t value, CUresult e) {
      Cell m = new_cell();
      OK(e);
      OK(cuStreamWaitValue32(s, p, value, CU_STREAM_WAIT_VALUE_GEQ));
      mark(s, m);
      r.k(n, late(m));
    };
    OK(cuMemsetD8(d, 0, 256));
    OK(cuCtxSynchronize());
    auto held_then = [&](const char* n, uint32_t value, auto work) {
      Cell m = new_cell();
      OK(cuStreamWaitValue32(s, p, value, CU_STREAM_WAIT_VALUE_GEQ));
      mark(s, m);
      r.k(std::string(n) + ".held", !early(m));
      OK(work());
      r.k(n, late(m));
    };
    held_then("set32", 1, [&] { return cuMemsetD32Async(p, 1, 1, t); });
    held_then("set8", 2, [&] { return cuMemsetD8Async(p, 2, 1, t); });
    *reinterpret_cast<uint32_t*>(g.pin) = 300;
    held_then("copy_in", 300, [&] { return cuMemcpyHtoDAsync(p, g.pin, 4, t); });
    OK(cuMemsetD32Async(p + 64, 400, 1, t));
    held_then("copy_device", 400, [&] { return cuMemcpyDtoDAsync(p, p + 64, 4, t); });
    held_then("set_2d", 0x01010101u, [&] { return cuMemsetD2D8Async(p, 16, 1, 4, 2, t); });
    round("already", 7, CUDA_SUCCESS);
    OK(cuStreamSynchronize(s));
    OK(cuStreamSynchronize(t));
  });
  add("memop.waits_of_default_streams", [](Rec& r) {
    const std::pair<const char*, CUstream> hs[] = {
        {"null", nullptr}, {"legacy", LEGACY}, {"per_thread", PER_THREAD}};
    for (auto& [n, h] : hs) {
      Stream t(NB);
      Cell c = new_cell(), m = new_cell();
      on_release([c] { c.set(1); });
      r.k(std::string(n) + ".wait", cuStreamWaitValue32(h, c.d, 1, CU_STREAM_WAIT_VALUE_EQ));
      OK(cuMemsetD32Async(m.d, 1, 1, h));
      r.k(std::string(n) + ".held", !early(m));
      OK(cuStreamWriteValue32(t, c.d, 1, 0));
      r.k(std::string(n) + ".let_go", late(m));
    }
    r.k("sync", cuCtxSynchronize());
  });
  add("memop.older_forms", [](Rec& r) {
    // The entry points of CUDA 8, and those for the per-thread default stream.
    Stream s(NB);
    Cell c = new_cell(1), d = new_cell(1);
    const char* suffixes[] = {"", "_ptsz", "_v2_ptsz"};
    for (const char* x : suffixes) {
      const std::string k = *x ? x + 1 : "v1";
      auto symbol = [&](const char* n) { return std::string(n) + x; };
      r.k(k + ".wait32",
          other_name(cuStreamWaitValue32, symbol("cuStreamWaitValue32").c_str())(s, c.d, 1, 0));
      r.k(k + ".wait64",
          other_name(cuStreamWaitValue64, symbol("cuStreamWaitValue64").c_str())(s, c.d, 1, 0));
      r.k(k + ".write32",
          other_name(cuStreamWriteValue32, symbol("cuStreamWriteValue32").c_str())(s, d.d, 7, 0));
      r.k(k + ".write64",
          other_name(cuStreamWriteValue64, symbol("cuStreamWriteValue64").c_str())(s, d.d, 7, 0));
      CUstreamBatchMemOpParams op = op_write(d.d, 8);
      r.k(k + ".batch",
          other_name(cuStreamBatchMemOp, symbol("cuStreamBatchMemOp").c_str())(s, 1, &op, 0));
    }
    r.k("sync", cuStreamSynchronize(s));
    r.k("written", d.get());
  });
}

}  // namespace weir::conformance
