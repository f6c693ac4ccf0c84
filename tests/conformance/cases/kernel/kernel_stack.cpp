// SPDX-License-Identifier: Apache-2.0
// cases/kernel/kernel_stack.cpp - a kernel that overflows its thread's stack.
#include "cases/kernel/kernels.hpp"
#include "probe/images.hpp"

namespace weir::conformance {

namespace {

// deep recurses endlessly, with 256 bytes at each level, which it reads afterwards.
const char* const kDeepPtx = R"(
.version 8.0
.target sm_90
.address_size 64

.func (.param .b32 sum) deep (.param .b32 n);

.func (.param .b32 sum) deep (.param .b32 n)
{
  .local .align 4 .b8 room[256];
  .reg .b32 %r<6>;
  .reg .b64 %rd<3>;
  ld.param.b32 %r1, [n];
  mov.u64 %rd1, room;
  cvta.local.u64 %rd2, %rd1;
  st.volatile.u32 [%rd2], %r1;
  add.u32 %r2, %r1, 1;
  {
    .param .b32 next;
    .param .b32 got;
    st.param.b32 [next], %r2;
    call.uni (got), deep, (next);
    ld.param.b32 %r3, [got];
  }
  ld.volatile.u32 %r4, [%rd2];
  add.u32 %r5, %r3, %r4;
  st.param.b32 [sum], %r5;
  ret;
}

.visible .entry endless(.param .u64 p)
{
  .reg .b32 %r<3>;
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [p];
  mov.b32 %r1, 0;
  {
    .param .b32 next;
    .param .b32 got;
    st.param.b32 [next], %r1;
    call.uni (got), deep, (next);
    ld.param.b32 %r2, [got];
  }
  st.volatile.u32 [%rd1], %r2;
  ret;
}
)";

}  // namespace

void kernel_stack_cases() {
  add("kernel.fault_stack", ISO, [](Rec& r) {
    CUmodule m = nullptr;
    CUfunction f = nullptr;
    OK(cuModuleLoadData(&m, module_code("stack", kDeepPtx)));
    OK(cuModuleGetFunction(&f, m, "endless"));
    Stream s(NB);
    Cell c = new_cell();
    CUdeviceptr d = c.d;
    void* args[] = {&d};
    r.k("launch", cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, s, args, nullptr));
    r.k("sync", cuStreamSynchronize(s));
    r.k("again", cuCtxSynchronize());
  });
}

}  // namespace weir::conformance
