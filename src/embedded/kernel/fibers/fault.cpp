// SPDX-License-Identifier: Apache-2.0
// kernel/fibers/fault.cpp - telling a kernel's faults from the program's.
#include "embedded/kernel/fibers/fault.hpp"

#include <signal.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>

#include "embedded/kernel/blocks/block_runner.hpp"
#include "embedded/kernel/fibers/access_guard.hpp"

namespace weir::embedded::kernel {

namespace {

using namespace abi;

constexpr std::array watched{SIGSEGV, SIGBUS, SIGFPE, SIGILL};
std::array<struct sigaction, watched.size()> before;  // written before the handlers are there

// Is it what the processor found, and not sent by somebody?
bool is_fault(const siginfo_t& info) noexcept { return info.si_code > 0; }

void write_line(const char* text) noexcept {
  if (::write(STDERR_FILENO, text, std::strlen(text)) < 0) return;
}

// An access that the processor refuses without telling the address: to one that is none, or one
// that is misaligned for what was to be done there.
CUresult refused_without_address([[maybe_unused]] const ucontext_t& at) noexcept {
#if defined(__x86_64__)
  constexpr std::array registers{REG_RAX, REG_RBX, REG_RCX, REG_RDX, REG_RSI,
                                 REG_RDI, REG_RBP, REG_R8,  REG_R9,  REG_R10,
                                 REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
  const bool none = std::any_of(registers.begin(), registers.end(), [&](int number) {
    const auto value = static_cast<std::int64_t>(at.uc_mcontext.gregs[number]);
    return value != value << 16 >> 16;
  });
  return none ? CUDA_ERROR_ILLEGAL_ADDRESS : CUDA_ERROR_MISALIGNED_ADDRESS;
#else
  return CUDA_ERROR_ILLEGAL_ADDRESS;
#endif
}

// Did the compiler put it there, for __builtin_trap()?
bool is_trap([[maybe_unused]] const ucontext_t& at) noexcept {
#if defined(__x86_64__)
  const auto* const code = reinterpret_cast<const unsigned char*>(at.uc_mcontext.gregs[REG_RIP]);
  return code[0] == 0x0f && code[1] == 0x0b;
#else
  return false;
#endif
}

CUresult meaning_of(int signal, const siginfo_t& info, const ucontext_t& at,
                    const block_runner& runner) noexcept {
  switch (signal) {
    case SIGFPE:
      write_line(
          "weir: a kernel divides an integer by zero, or the least one by -1; a GPU would give "
          "some value\n");
      return CUDA_ERROR_LAUNCH_FAILED;
    case SIGILL: return is_trap(at) ? CUDA_ERROR_LAUNCH_FAILED : CUDA_ERROR_ILLEGAL_INSTRUCTION;
    case SIGBUS:
      return info.si_code == BUS_ADRALN ? CUDA_ERROR_MISALIGNED_ADDRESS
                                        : CUDA_ERROR_ILLEGAL_ADDRESS;
    default:
      if (info.si_code == SI_KERNEL) return refused_without_address(at);
      if (runner.is_overflow(info.si_addr))
        write_line("weir: a thread of a kernel has used up its stack\n");
      return CUDA_ERROR_ILLEGAL_ADDRESS;
  }
}

// What would have happened without this handler.
void pass_on(int signal, siginfo_t* info, void* context, struct sigaction& to) noexcept {
  if (to.sa_handler == SIG_DFL || (to.sa_handler == SIG_IGN && is_fault(*info))) {
    struct sigaction none {};
    none.sa_handler = SIG_DFL;
    ::sigaction(signal, &none, nullptr);
    if (!is_fault(*info)) ::raise(signal);
    return;  // a fault comes again
  }
  if (to.sa_handler == SIG_IGN) return;
  sigset_t blocked = to.sa_mask;
  if ((to.sa_flags & SA_NODEFER) == 0) sigaddset(&blocked, signal);
  sigset_t mask;
  pthread_sigmask(SIG_BLOCK, &blocked, &mask);
  const struct sigaction handler = to;
  if ((to.sa_flags & static_cast<int>(SA_RESETHAND)) != 0) to.sa_handler = SIG_DFL;
  if ((handler.sa_flags & SA_SIGINFO) != 0) {
    handler.sa_sigaction(signal, info, context);
  } else {
    handler.sa_handler(signal);
  }
  pthread_sigmask(SIG_SETMASK, &mask, nullptr);
}

// Lets a guarded access of the driver return, if that is what the processor refused.
void leave_guarded_access(int signal, const siginfo_t& info, const ucontext_t& at) noexcept {
  access_guard* const guard = access_guard::active();
  if (guard == nullptr || !is_fault(info) || (signal != SIGSEGV && signal != SIGBUS)) return;
  pthread_sigmask(SIG_SETMASK, &at.uc_sigmask, nullptr);  // the jump restores no mask
  guard->leave(info.si_code == SI_KERNEL ? nullptr : info.si_addr);
}

void on_fault(int signal, siginfo_t* info, void* context) noexcept {
  leave_guarded_access(signal, *info, *static_cast<const ucontext_t*>(context));
  if (block_runner* const runner = running_kernel(); runner != nullptr && is_fault(*info)) {
    const auto& at = *static_cast<const ucontext_t*>(context);
    const CUresult why = meaning_of(signal, *info, at, *runner);
    pthread_sigmask(SIG_SETMASK, &at.uc_sigmask,
                    nullptr);  // the jump restores none, and a sanitizer may have blocked some
    runner->leave(why);
  }
  const auto* const which = std::find(watched.begin(), watched.end(), signal);
  pass_on(signal, info, context, before[static_cast<std::size_t>(which - watched.begin())]);
}

}  // namespace

void watch_faults() noexcept {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction ours {};
    ours.sa_sigaction = on_fault;
    // Not blocked while it runs, for the handlers that were made so.
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    sigemptyset(&ours.sa_mask);
    for (std::size_t i = 0; i < watched.size(); ++i) {
      ::sigaction(watched[i], nullptr, &before[i]);
      ::sigaction(watched[i], &ours, nullptr);
    }
  });
}

void let_faults_through() noexcept {
  sigset_t faults;
  sigemptyset(&faults);
  for (const int each : watched) sigaddset(&faults, each);
  pthread_sigmask(SIG_UNBLOCK, &faults, nullptr);
}

}  // namespace weir::embedded::kernel
