// SPDX-License-Identifier: Apache-2.0
// tests/compile/tls_call.cpp - the worst case of __tls_get_addr, by which code in libraries finds
// thread-local variables: it changes all caller-saved vector registers, as the library's allocator
// may do. Images find it here.
#include <dlfcn.h>

namespace {

#if defined(__x86_64__)
// clang 14 does not know that these change.
[[gnu::target("avx512f"), gnu::noinline]] void change_registers() {
  asm volatile(
      "vpternlogd $0xff, %%zmm16, %%zmm16, %%zmm16\n"
      "vpternlogd $0xff, %%zmm17, %%zmm17, %%zmm17\n"
      "vpternlogd $0xff, %%zmm18, %%zmm18, %%zmm18\n"
      "vpternlogd $0xff, %%zmm19, %%zmm19, %%zmm19\n" ::
          : "xmm16", "xmm17", "xmm18", "xmm19");
}
#endif

}  // namespace

extern "C" __attribute__((visibility("default"))) void* __tls_get_addr(void* index) {
  using finder = void*(void*);
  static auto* const found = reinterpret_cast<finder*>(dlsym(RTLD_NEXT, "__tls_get_addr"));
  void* const address = found(index);
#if defined(__x86_64__)
  static const bool can = __builtin_cpu_supports("avx512f") != 0;
  if (can) change_registers();
#endif
  return address;
}
