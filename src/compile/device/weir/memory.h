// SPDX-License-Identifier: Apache-2.0
// weir/memory.h - loads and stores with a hint, copies, the device's heap, output, assertions and traps.
#pragma once

#define WEIR_LOAD(name)        \
  template <class T>           \
  WEIR_HD T name(const T* p) { \
    return *p;                 \
  }
WEIR_LOAD(__ldg)
WEIR_LOAD(__ldca)
WEIR_LOAD(__ldcg)
WEIR_LOAD(__ldcs)
WEIR_LOAD(__ldlu)
WEIR_LOAD(__ldcv)
#undef WEIR_LOAD
#define WEIR_STORE(name)                                       \
  template <class T>                                           \
  WEIR_HD void name(T* p, typename weir_same<T>::type value) { \
    *p = value;                                                \
  }
WEIR_STORE(__stwb)
WEIR_STORE(__stcg)
WEIR_STORE(__stcs)
WEIR_STORE(__stwt)
#undef WEIR_STORE

// The C library's names, bound to the driver's services by the linker's names, so that its own headers may follow.
extern "C" {
int printf(const char* format, ...) __asm__("weir_printf") __attribute__((format(printf, 1, 2)));
int vprintf(const char* format, __builtin_va_list arguments) __asm__("weir_vprintf");
int puts(const char* line) __asm__("weir_puts");
void* malloc(size_t bytes) noexcept __asm__("weir_malloc");
void free(void* memory) noexcept __asm__("weir_free");
long clock() noexcept __asm__("weir_clock");
void* memcpy(void* to, const void* from, size_t bytes) noexcept;
void* memmove(void* to, const void* from, size_t bytes) noexcept;
void* memset(void* to, int value, size_t bytes) noexcept;
int memcmp(const void* a, const void* b, size_t bytes) noexcept;

inline int printf(const char* format, ...) {
  __builtin_va_list arguments;
  __builtin_va_start(arguments, format);
  const int n = weir_driver->print(format, arguments);
  __builtin_va_end(arguments);
  return n;
}
inline int vprintf(const char* format, __builtin_va_list arguments) { return weir_driver->print(format, arguments); }
inline int puts(const char* line) { return printf("%s\n", line); }
inline void* malloc(size_t bytes) noexcept { return weir_driver->allocate(bytes); }
inline void free(void* memory) noexcept { weir_driver->free(memory); }
inline long clock() noexcept { return (long)weir_driver->clock(); }
}
WEIR_HD long long clock64() { return (long long)weir_driver->clock(); }
WEIR_HD unsigned long long __globaltimer() { return weir_driver->time(); }

WEIR_HD void __trap() {
  weir_driver->fail(weir_fault_trap, nullptr);
  __builtin_unreachable();
}
WEIR_HD void __brkpt() { __trap(); }

[[noreturn]] __attribute__((noinline, cold, unused)) static void weir_assert_failed(const char* what, const char* file,
                                                                                    unsigned line, const char* where) {
  char text[1024];
  __builtin_snprintf(text, sizeof text, "%s:%u: %s: block: [%u,%u,%u], thread: [%u,%u,%u] Assertion `%s` failed.", file,
                     line, where, blockIdx.x, blockIdx.y, blockIdx.z, threadIdx.x, threadIdx.y, threadIdx.z, what);
  weir_driver->fail(weir_fault_assert, text);
  __builtin_unreachable();
}
WEIR_HD void __assertfail(const void* what, const void* file, unsigned line, const void* where, size_t) {
  weir_assert_failed((const char*)what, (const char*)file, line, (const char*)where);
}
#include <assert.h>
