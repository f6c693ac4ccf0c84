// SPDX-License-Identifier: Apache-2.0
// kernel/fibers/forced_yield.cpp - a call that the interrupted code knows nothing of, and finds
// nothing changed after.
#include "embedded/kernel/fibers/forced_yield.hpp"

#include <cstdint>

#include "embedded/kernel/blocks/block_runner.hpp"

#if defined(__x86_64__)

#include <cpuid.h>

extern "C" {
// What the processor keeps in its vector registers, and how much room that takes.
__attribute__((visibility("hidden"), used)) std::uint64_t weir_embedded_vector_mask = 0;
__attribute__((visibility("hidden"), used)) std::uint64_t weir_embedded_vector_bytes = 0;

__attribute__((visibility("hidden"), used)) void weir_embedded_let_others_go_on() noexcept {
  using namespace weir::embedded::kernel;
  running_kernel()->threads().yield_from_signal();
}

__attribute__((visibility("hidden"))) void weir_embedded_turn();
}

// Its return address is the interrupted place, below the 128 bytes that code may use beyond its
// stack.
asm(R"(
.pushsection .text
.hidden weir_embedded_turn
.type weir_embedded_turn, @function
weir_embedded_turn:
  pushfq
  pushq %rax
  pushq %rbx
  pushq %rcx
  pushq %rdx
  pushq %rsi
  pushq %rdi
  pushq %rbp
  pushq %r8
  pushq %r9
  pushq %r10
  pushq %r11
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, %rbp
  cld
  subq weir_embedded_vector_bytes(%rip), %rsp
  andq $-64, %rsp
  xorl %eax, %eax
  movq %rax, 512(%rsp)
  movq %rax, 520(%rsp)
  movq %rax, 528(%rsp)
  movq %rax, 536(%rsp)
  movq %rax, 544(%rsp)
  movq %rax, 552(%rsp)
  movq %rax, 560(%rsp)
  movq %rax, 568(%rsp)
  movl weir_embedded_vector_mask(%rip), %eax
  movl 4+weir_embedded_vector_mask(%rip), %edx
  xsave64 (%rsp)
  call weir_embedded_let_others_go_on
  movl weir_embedded_vector_mask(%rip), %eax
  movl 4+weir_embedded_vector_mask(%rip), %edx
  xrstor64 (%rsp)
  movq %rbp, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %r11
  popq %r10
  popq %r9
  popq %r8
  popq %rbp
  popq %rdi
  popq %rsi
  popq %rdx
  popq %rcx
  popq %rbx
  popq %rax
  popfq
  ret $128
.size weir_embedded_turn, . - weir_embedded_turn
.popsection
)");

namespace weir::embedded::kernel {

namespace {

constexpr std::uint64_t beyond_stack = 128;

// Not where the processor checks return addresses: the interrupted place is none.
bool returns_are_checked() noexcept {
  std::uint64_t shadow_stack = 0;
  asm volatile("rdsspq %0" : "+r"(shadow_stack));
  return shadow_stack != 0;
}

bool find_vector_registers() noexcept {
  constexpr std::uint64_t tiles = std::uint64_t{3}
                                  << 17;  // which no kernel uses, and which are large
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & bit_OSXSAVE) == 0 || returns_are_checked())
    return false;
  std::uint32_t low = 0;
  std::uint32_t high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  if (__get_cpuid_count(0xd, 0, &a, &b, &c, &d) == 0) return false;
  weir_embedded_vector_mask = (std::uint64_t{high} << 32 | low) & ~tiles;
  weir_embedded_vector_bytes = b;
  return true;
}

const bool has_vector_registers = find_vector_registers();

}  // namespace

bool request_yield(ucontext_t& at) noexcept {
  if (!has_vector_registers || running_kernel()->what().kernel->resume == nullptr) return false;
  auto& stack = at.uc_mcontext.gregs[REG_RSP];
  auto& code = at.uc_mcontext.gregs[REG_RIP];
  stack -= static_cast<greg_t>(beyond_stack + sizeof(greg_t));
  *reinterpret_cast<greg_t*>(stack) = code;
  code = reinterpret_cast<greg_t>(&weir_embedded_turn);
  return true;
}

}  // namespace weir::embedded::kernel

#else

namespace weir::embedded::kernel {

bool request_yield(ucontext_t&) noexcept { return false; }

}  // namespace weir::embedded::kernel

#endif
