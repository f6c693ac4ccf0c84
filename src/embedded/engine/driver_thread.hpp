// engine/driver_thread.hpp - starting the driver's own threads.
#pragma once

#include <bit>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <thread>
#include <type_traits>

#include <pthread.h>
#include <signal.h>

namespace weir::embedded::engine {

// The number of an error, or 0. The body is a pointer's worth of captures: a std::thread would need
// memory for it.
template <class Body>
int create_thread(const Body& body, pthread_t& thread) noexcept {
  static_assert(sizeof(Body) == sizeof(void*) && std::is_trivially_copyable_v<Body>);
  constexpr auto run = [](void* captures) -> void* {
    std::bit_cast<Body>(captures)();
    return nullptr;
  };
  return pthread_create(&thread, nullptr, run, std::bit_cast<void*>(body));
}

// Also where the machine has no thread to give just now. There is no way on without: work would
// stand for ever, and those who wait for it. So the program ends, and says why, when there still is
// none after half a second.
template <class Body>
int create_thread_with_retry(const Body& body, pthread_t& thread) noexcept {
  for (std::chrono::milliseconds delay{1};; delay *= 2) {
    const int error = create_thread(body, thread);
    if (error == 0) return error;
    if (delay > std::chrono::milliseconds{256}) {
      std::fprintf(stderr,
                   "weir: the embedded driver cannot start a thread: %s; raise the limit of "
                   "threads (ulimit -u)\n",
                   std::strerror(error));
      std::abort();
    }
    std::this_thread::sleep_for(delay);
  }
}

// Is there a way on where no thread is to be had?
enum class thread_requirement : std::uint8_t { required, optional };

// Starts a thread. It takes no signals, which are the program's, but for those that come of what
// the thread itself does wrong: blocked, they would end the process past the handlers of the
// program; and SIGURG, by which kernels are interrupted. False where there is none to be had.
template <class Body>
bool start_driver_thread(const char* name, Body body,
                         thread_requirement requirement = thread_requirement::required) noexcept {
  sigset_t blocked;
  sigset_t old_mask;
  sigfillset(&blocked);
  for (const int handled : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGURG})
    sigdelset(&blocked, handled);
  pthread_sigmask(SIG_SETMASK, &blocked, &old_mask);
  pthread_t thread{};
  const int error = requirement == thread_requirement::optional
                        ? create_thread(body, thread)
                        : create_thread_with_retry(body, thread);
  if (error == 0) {
    pthread_setname_np(thread, name);
    pthread_detach(thread);
  }
  pthread_sigmask(SIG_SETMASK, &old_mask, nullptr);
  return error == 0;
}

}  // namespace weir::embedded::engine
