// SPDX-License-Identifier: Apache-2.0
// cases/kernel/modules.cpp - a module for cases about modules.
#include "cases/kernel/modules.hpp"

#include "probe/images.hpp"

namespace weir::conformance {
namespace {

const char* const kModulePtx = R"(
.version 8.0
.target sm_90
.address_size 64

.visible .global .align 4 .u32 word = 17;
.visible .const .align 4 .u32 fixed = 5;
.visible .global .attribute(.managed) .align 4 .u32 both = 6;

.visible .entry store(.param .u64 p, .param .u32 v)
{
  .reg .b32 %r<2>;
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [p];
  ld.param.u32 %r1, [v];
  st.volatile.u32 [%rd1], %r1;
  ret;
}

.visible .entry empty()
{
  ret;
}

.visible .entry bounded(.param .u64 p)
.maxntid 256, 1, 1
{
  .shared .align 4 .b8 room[1024];
  .reg .b32 %r<3>;
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [p];
  mov.u32 %r1, room;
  ld.volatile.shared.u32 %r2, [%r1];
  st.volatile.u32 [%rd1], %r2;
  ret;
}

.visible .entry clustered()
.reqnctapercluster 2, 1, 1
{
  ret;
}
)";

}  // namespace

const void* asked_module() { return module_code("modules", kModulePtx); }

void rec_attributes(Rec& r, const std::string& key, CUfunction f) {
  for (unsigned which = 0; which <= CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE;
       ++which) {
    const std::string k = key + "." + std::to_string(which);
    int value = -7;
    r.k(k, cuFuncGetAttribute(&value, static_cast<CUfunction_attribute>(which), f));
    // the number of registers and the code's versions depend on the compiler
    const bool is_compilers =
        which == CU_FUNC_ATTRIBUTE_NUM_REGS || which == CU_FUNC_ATTRIBUTE_PTX_VERSION;
    r.k((is_compilers ? "~" : "") + k + ".is", value);
  }
}

}  // namespace weir::conformance
