// SPDX-License-Identifier: Apache-2.0
// kernel/fibers/interruption.cpp - who looks for kernels that spin, and what the signal does to
// one.
#include "embedded/kernel/fibers/interruption.hpp"

#include <dlfcn.h>
#include <linux/membarrier.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <thread>

#include "embedded/engine/driver_thread.hpp"
#include "embedded/engine/waiting.hpp"
#include "embedded/kernel/blocks/block_runner.hpp"
#include "embedded/kernel/fibers/forced_yield.hpp"
#include "os/futex.hpp"

namespace weir::embedded::kernel {

namespace {

using namespace std::chrono_literals;

// Ignored where nobody handles it, and used by few: a late one does no harm.
constexpr int our_signal = SIGURG;

constexpr std::chrono::microseconds longest_pause = 10ms;
constexpr std::chrono::microseconds shortest_pause = 50us;
constexpr std::chrono::seconds longest_answer = 1s;  // then somebody else has taken the signal
constexpr unsigned pauses_until_asleep = 10;

std::mutex interruption_lock;
interruptible* registered = nullptr;  // guarded by the interruption_lock
struct sigaction previous_action;     // written before the handler is there
std::atomic<std::uint32_t> looks{0};  // 1: the interrupter does
std::atomic<std::uint32_t> cancels{0};
std::atomic<std::uint32_t> yields_requested{0};

// A barrier in all threads of the process; without it nobody is interrupted.
bool barrier_in_all_threads() noexcept {
  static const bool have =
      syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
  return have && syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0;
}

// Which file an address is of; null for none. May be called by a signal handler.
const void* file_of(const void* address) noexcept {
#if defined(DLFO_STRUCT_HAS_EH_DBASE)  // glibc 2.35 and later
  dl_find_object found;
  return ::_dl_find_object(const_cast<void*>(address), &found) == 0 ? found.dlfo_map_start
                                                                    : nullptr;
#else
  return nullptr;
#endif
}

// Is it code of the kernel's module, and no other? A kernel that is part of the same file as the
// driver is never interrupted.
bool is_in_module(const void* code, const weir_kernel& of) noexcept {
  const void* const module = file_of(reinterpret_cast<const void*>(of.run));
  return module != nullptr && file_of(code) == module &&
         file_of(reinterpret_cast<const void*>(&file_of)) != module;
}

const void* interrupted_at(const ucontext_t& at) noexcept {
#if defined(__x86_64__)
  return reinterpret_cast<const void*>(at.uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
  return reinterpret_cast<const void*>(at.uc_mcontext.pc);
#else
  return nullptr;
#endif
}

}  // namespace

// Asks threads to look at themselves.
class interrupter {
 public:
  static void look() noexcept {
    std::chrono::microseconds pause = longest_pause;
    unsigned quiet = 0;
    std::uint32_t turns_before = 0;
    for (;;) {
      std::this_thread::sleep_for(pause);
      if (look_at_all()) {
        quiet = 0;
      } else if (++quiet >= pauses_until_asleep) {
        sleep();
        quiet = 0;
      }
      // Where threads need turns they need many.
      const std::uint32_t turns_now = yields_requested.load(std::memory_order_relaxed);
      pause = std::exchange(turns_before, turns_now) != turns_now
                  ? shortest_pause
                  : std::min(2 * pause, longest_pause);
    }
  }

  // The answer of a thread that was asked.
  static void handle(int signal, siginfo_t* info, void* context) noexcept {
    // Others are the program's, sent like ours or in another way.
    block_runner* const own = block_runner::if_there();
    if (own == nullptr || info->si_code != SI_TKILL || info->si_pid != ::getpid() ||
        !own->interruption().signal_pending_.exchange(false, std::memory_order_acq_rel)) {
      return pass_on(signal, info, context);
    }
    auto& at = *static_cast<ucontext_t*>(context);
    block_runner* const runner = running_kernel();
    if (runner == nullptr || !is_in_module(interrupted_at(at), *runner->what().kernel)) return;
    if (const abi::CUresult why = runner->external_failure(); why != abi::CUDA_SUCCESS) {
      pthread_sigmask(SIG_SETMASK, &at.uc_sigmask, nullptr);  // the jump restores none
      runner->leave(why);
    }
    if (runner->has_threads() && runner->threads().stands() && request_yield(at)) {
      yields_requested.fetch_add(1, std::memory_order_relaxed);
    }
  }

 private:
  static bool needs_signal(std::uint32_t run) noexcept {
    if ((run & interruptible::runs) == 0) return false;
    return (run & interruptible::turns) != 0 || cancels.load(std::memory_order_relaxed) != 0 ||
           engine::device_failure() != abi::CUDA_SUCCESS;
  }

  // True if there was somebody to look at.
  static bool look_at_all() noexcept {
    bool some = false;
    const std::lock_guard lock{interruption_lock};
    for (interruptible* one = registered; one != nullptr; one = one->next_) {
      const std::uint32_t run = one->run_.load(std::memory_order_acquire);
      const bool same = std::exchange(one->seen_, run) == run;
      if (one->signal_pending_.load(std::memory_order_relaxed)) {
        some = true;
        if (std::chrono::steady_clock::now() - one->signal_sent_at_ > longest_answer) {
          one->signal_pending_.store(false, std::memory_order_release);
        }
      } else if (needs_signal(run)) {
        some = true;
        if (same) send_signal(*one, run);
      }
    }
    return some;
  }

  // Unless it ends just now: either it sees that it is asked, or is seen to have ended.
  static void send_signal(interruptible& one, std::uint32_t run) noexcept {
    one.signal_pending_.store(true, std::memory_order_relaxed);
    one.signal_sent_at_ = std::chrono::steady_clock::now();
    if (barrier_in_all_threads() && one.run_.load(std::memory_order_relaxed) == run &&
        pthread_kill(one.thread_, our_signal) == 0) {
      return;
    }
    one.signal_pending_.store(false, std::memory_order_release);
  }

  static void sleep() noexcept {
    looks.store(0, std::memory_order_relaxed);
    interruptible::asleep.store(true, std::memory_order_relaxed);
    barrier_in_all_threads();
    if (look_at_all()) wake();
    while (looks.load(std::memory_order_acquire) == 0) weir::os::futex_wait(looks, 0);
  }

  static void pass_on(int signal, siginfo_t* info, void* context) noexcept {
    if ((previous_action.sa_flags & SA_SIGINFO) != 0) {
      previous_action.sa_sigaction(signal, info, context);
    } else if (previous_action.sa_handler != SIG_DFL && previous_action.sa_handler != SIG_IGN) {
      previous_action.sa_handler(signal);
    }
  }

 public:
  static void wake() noexcept {
    static std::once_flag once;
    interruptible::asleep.store(false, std::memory_order_relaxed);
    looks.store(1, std::memory_order_release);
    std::call_once(once, [] {
      struct sigaction ours {};
      ours.sa_sigaction = handle;
      ours.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
      sigemptyset(&ours.sa_mask);
      ::sigaction(our_signal, nullptr, &previous_action);
      ::sigaction(our_signal, &ours, nullptr);
      engine::start_driver_thread("weir-interrupt", &interrupter::look);
    });
    weir::os::futex_wake(looks, 1);
  }
};

interruptible::interruptible() noexcept : thread_{pthread_self()} {
  engine::add_failure_hook(interrupter::wake);
  const std::lock_guard lock{interruption_lock};
  next_ = registered;
  registered = this;
}

interruptible::~interruptible() {
  const std::lock_guard lock{interruption_lock};
  interruptible** at = &registered;
  while (*at != this) at = &(*at)->next_;
  *at = next_;
}

void interruptible::wake() noexcept { interrupter::wake(); }

// The signal comes before it is known that it has come; a thread that has blocked it takes it by
// hand.
void interruptible::wait_for_signal() noexcept {
  sigset_t ours;
  sigemptyset(&ours);
  sigaddset(&ours, our_signal);
  constexpr timespec at_once{0, 0};
  while (signal_pending_.load(std::memory_order_acquire)) {
    if (::sigtimedwait(&ours, nullptr, &at_once) == our_signal)
      signal_pending_.store(false, std::memory_order_relaxed);
    std::this_thread::yield();
  }
}

void begin_cancel() noexcept {
  cancels.fetch_add(1, std::memory_order_relaxed);
  interrupter::wake();
}

void end_cancel() noexcept { cancels.fetch_sub(1, std::memory_order_relaxed); }

}  // namespace weir::embedded::kernel
