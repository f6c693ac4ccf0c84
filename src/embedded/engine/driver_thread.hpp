// SPDX-License-Identifier: Apache-2.0
// embedded/engine/driver_thread.hpp - starts the driver's own threads.
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

// Starts a thread; returns an error number, or 0. The body is a lambda whose captures fit into a
// pointer, so that no memory is allocated, unlike for a std::thread.
template <class Body>
int create_thread(const Body& body, pthread_t& thread) noexcept {
  static_assert(sizeof(Body) == sizeof(void*) && std::is_trivially_copyable_v<Body>);
  constexpr auto run = [](void* captures) -> void* {
    std::bit_cast<Body>(captures)();
    return nullptr;
  };
  return pthread_create(&thread, nullptr, run, std::bit_cast<void*>(body));
}

// Like create_thread(), but retries for half a second if the system has no thread available, and
// then ends the program with a message. Without the thread, work would never complete and threads
// that wait for it would hang.
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

// Whether the driver can continue without the thread. If the system has no thread available, the
// start of a required thread ends the program, and the start of an optional one returns false.
enum class thread_requirement : std::uint8_t { required, optional };

// Starts a detached thread. The thread blocks all signals, which are the program's, except two
// kinds: signals caused by the thread's own faults, which would otherwise bypass the program's
// handlers, and SIGURG, which interrupts kernels. Returns false if an optional thread could not be
// started.
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
