// SPDX-License-Identifier: Apache-2.0
// weir/alignment.h - what the compiler's check of alignments calls; part of modules for a debugger.
#pragma once

struct weir_misaligned {
  const char* file;
  unsigned line, column;
  const void* type;
  unsigned char alignment;  // its logarithm
  unsigned char kind;
};
static void weir_fail_misaligned(const weir_misaligned* where, const void* address) {
  char text[512];
  __builtin_snprintf(text, sizeof text,
                     "%s:%u:%u: address %p is not aligned to %u bytes: block: [%u,%u,%u], thread: [%u,%u,%u]",
                     where->file, where->line, where->column, address, 1u << where->alignment, blockIdx.x, blockIdx.y,
                     blockIdx.z, threadIdx.x, threadIdx.y, threadIdx.z);
  weir_driver->fail(weir_fault_misaligned, text);
}
extern "C" {
__attribute__((used)) void __ubsan_handle_type_mismatch_v1(void* where, void* address) {
  weir_fail_misaligned((const weir_misaligned*)where, address);
}
__attribute__((used)) void __ubsan_handle_type_mismatch_v1_abort(void* where, void* address) {
  weir_fail_misaligned((const weir_misaligned*)where, address);
}
}
