// SPDX-License-Identifier: Apache-2.0
// cases/memory/vmm_map.cpp - mapping allocations into ranges, and unmapping them.
#include "cases/memory/ranges.hpp"

namespace weir::conformance {

void vmm_map_cases() {
  add("vmm.map_errors", [](Rec& r) {
    Range a(2 * kGrain);
    Piece m;
    DevMem d(64);
    r.k("flags1", cuMemMap(a, kGrain, 0, m, 1));
    r.k("size0", cuMemMap(a, 0, 0, m, 0));
    r.k("half", cuMemMap(a, kGrain / 2, 0, m, 0));
    r.k("longer", cuMemMap(a, 2 * kGrain, 0, m, 0));
    r.k("offset_page", cuMemMap(a, kGrain, 4096, m, 0));
    r.k("offset_end", cuMemMap(a, kGrain, kGrain, m, 0));
    r.k("null_address", cuMemMap(0, kGrain, 0, m, 0));
    r.k("unaligned", cuMemMap(a + 4096, kGrain, 0, m, 0));
    r.k("not_reserved", cuMemMap(d, kGrain, 0, m, 0));
    r.k("second_half", cuMemMap(a + kGrain, kGrain, 0, m, 0));
    r.k("unmap", cuMemUnmap(a + kGrain, kGrain));
  });
  add("vmm.map_beyond_range", [](Rec& r) {
    Range a;
    Piece m(2 * kGrain);
    r.k("~map", cuMemMap(a, 2 * kGrain, 0, m, 0));
    r.k("part", cuMemMap(a, kGrain, 0, m, 0));
  });
  add("vmm.map_parts", [](Rec& r) {
    Range a(4 * kGrain);
    Piece m(4 * kGrain);
    r.k("front", cuMemMap(a, 2 * kGrain, 0, m, 0));
    r.k("back", cuMemMap(a + 2 * kGrain, 2 * kGrain, 2 * kGrain, m, 0));
    r.k("~unmap_front", cuMemUnmap(a, 2 * kGrain));
    r.k("~unmap_back", cuMemUnmap(a + 2 * kGrain, 2 * kGrain));
  });
  add("vmm.map_null_handle", ISO, [](Rec& r) {
    Range a;
    r.k("res", cuMemMap(a, kGrain, 0, 0, 0));
  });
  add("vmm.map_released", ISO, [](Rec& r) {
    Range a;
    Piece m;
    const CUmemGenericAllocationHandle h = m;
    OK(m.release());
    r.k("res", cuMemMap(a, kGrain, 0, h, 0));
  });
  add("vmm.two_pieces", [](Rec& r) {
    Range a(3 * kGrain);
    Piece m, n;
    OK(cuMemMap(a, kGrain, 0, m, 0));
    OK(cuMemMap(a + kGrain, kGrain, 0, n, 0));
    r.k("access_both", open_access(a, 2 * kGrain));
    r.k("memset_across", cuMemsetD8(a + kGrain - 8, 21, 16));
    OK(cuCtxSynchronize());
    unsigned char two[2] = {};
    r.k("copy_across", cuMemcpyDtoH(two, a + kGrain - 1, 2));
    r.k("front", static_cast<unsigned>(two[0]));
    r.k("back", static_cast<unsigned>(two[1]));
    r.k("unmap_both", cuMemUnmap(a, 2 * kGrain));
  });
  add("vmm.piece_and_hole", ISO, [](Rec& r) {
    Range a(2 * kGrain);
    Piece m;
    OK(cuMemMap(a, kGrain, 0, m, 0));
    r.k("access_both", open_access(a, 2 * kGrain));
    r.k("access", open_access(a, kGrain));
    unsigned char two[2] = {};
    r.k("copy_in_hole", cuMemcpyDtoH(two, a + kGrain, 1));
    r.k("copy_into_hole", cuMemcpyDtoH(two, a + kGrain - 1, 2));
    r.k("unmap_both", cuMemUnmap(a, 2 * kGrain));
    r.k("unmap", cuMemUnmap(a, kGrain));
  });
  add("vmm.one_piece_twice", [](Rec& r) {
    Range a, b;
    Piece m;
    OK(cuMemMap(a, kGrain, 0, m, 0));
    if (r.k("map", cuMemMap(b, kGrain, 0, m, 0)) != CUDA_SUCCESS) return;
    OK(open_access(a, kGrain));
    OK(open_access(b, kGrain));
    put_byte(a + 77, 31);
    r.k("seen", get_byte(b + 77));
    r.k("unmap", cuMemUnmap(a, kGrain));
    r.k("seen_after", get_byte(b + 77));
  });
  add("vmm.remap", [](Rec& r) {
    Range a;
    Piece m, n;
    OK(cuMemMap(a, kGrain, 0, m, 0));
    OK(open_access(a, kGrain));
    put_byte(a, 41);
    OK(cuMemUnmap(a, kGrain));
    OK(cuMemMap(a, kGrain, 0, n, 0));
    r.k("access_forgotten", open_access(a, kGrain));
    put_byte(a, 42);
    OK(cuMemUnmap(a, kGrain));
    OK(cuMemMap(a, kGrain, 0, m, 0));
    OK(open_access(a, kGrain));
    r.k("kept", get_byte(a));
  });
  add("vmm.unmap_errors", [](Rec& r) {
    Mapped a(2 * kGrain);
    r.k("null", cuMemUnmap(0, kGrain));
    r.k("size0", cuMemUnmap(a, 0));
    r.k("front", cuMemUnmap(a, kGrain));
    r.k("back", cuMemUnmap(a + kGrain, kGrain));
    r.k("longer", cuMemUnmap(a, 3 * kGrain));
    r.k("unaligned", cuMemUnmap(a + 4096, kGrain));
    r.k("device_memory", cuMemUnmap(g.dbuf, kGrain));
    r.k("whole", cuMemUnmap(a, 2 * kGrain));
  });
  add("vmm.unmap_nothing", [](Rec& r) {
    Range a(4 * kGrain);
    r.k("front", cuMemUnmap(a, 2 * kGrain));
    r.k("middle", cuMemUnmap(a + kGrain, 2 * kGrain));
    r.k("back", cuMemUnmap(a + 2 * kGrain, 2 * kGrain));
    r.k("unaligned", cuMemUnmap(a + 4096, kGrain));
    r.k("odd_size", cuMemUnmap(a, 4096));
    r.k("whole", cuMemUnmap(a, 4 * kGrain));
  });
  add("vmm.unmap_around", [](Rec& r) {
    Range a(4 * kGrain);
    Piece m, n;
    unsigned type = 0;
    OK(cuMemMap(a + kGrain, kGrain, 0, m, 0));
    OK(cuMemMap(a + 2 * kGrain, kGrain, 0, n, 0));
    r.k("from_inside", cuMemUnmap(a + kGrain + 4096, kGrain));
    r.k("up_to_inside", cuMemUnmap(a, kGrain + 4096));
    r.k("one_and_before", cuMemUnmap(a, 2 * kGrain));
    r.k("first_gone", cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, a + kGrain));
    r.k("second_there",
        cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, a + 2 * kGrain));
    r.k("one_and_behind", cuMemUnmap(a + 2 * kGrain, 2 * kGrain));
    r.k("second_gone",
        cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, a + 2 * kGrain));
  });
  add("vmm.unmap_then_use", [](Rec& r) {
    Mapped a;
    put_byte(a, 1);
    OK(cuMemUnmap(a, kGrain));
    unsigned type = 0;
    r.k("htod", cuMemcpyHtoD(a, g.pin, 16));
    r.k("attribute", cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, a));
    r.k("access", open_access(a, kGrain));
    r.k("sync", cuCtxSynchronize());
  });
  add("vmm.busy", ISO, [](Rec& r) {
    Stream s(NB);
    Range a;
    Piece m;
    ValueGate v;
    v.arm(s);
    record_blocking(r, "~map",
                    blocking([&] { v.open(); }, [&] { return cuMemMap(a, kGrain, 0, m, 0); }));
    v.open();
    OK(cuStreamSynchronize(s));
    ValueGate w;
    w.arm(s);
    record_blocking(r, "~access",
                    blocking([&] { w.open(); }, [&] { return open_access(a, kGrain); }));
    w.open();
    OK(cuStreamSynchronize(s));
    ValueGate x;
    x.arm(s);
    record_blocking(r, "~unmap",
                    blocking([&] { x.open(); }, [&] { return cuMemUnmap(a, kGrain); }));
    x.open();
    OK(cuStreamSynchronize(s));
  });
}

}  // namespace weir::conformance
