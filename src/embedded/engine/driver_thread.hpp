// SPDX-License-Identifier: Apache-2.0
// embedded/engine/driver_thread.hpp - starts the driver's own threads.
#pragma once

#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <type_traits>

#include <pthread.h>
#include <signal.h>

#include "os/signal_blocker.hpp"

namespace weir::embedded::engine {

// Creates a thread; returns an error number, or 0. `stack_bytes`: the size of its stack; 0 means
// the default size. The body is a lambda whose captures fit into a pointer, so that no memory is
// allocated, unlike for a std::thread.
template <class Body>
int create_thread(const Body& body, std::size_t stack_bytes, pthread_t& thread) noexcept {
  static_assert(sizeof(Body) == sizeof(void*) && std::is_trivially_copyable_v<Body>);
  constexpr auto run = [](void* captures) -> void* {
    std::bit_cast<Body>(captures)();
    return nullptr;
  };
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  if (stack_bytes != 0) pthread_attr_setstacksize(&attributes, stack_bytes);
  const int error = pthread_create(&thread, &attributes, run, std::bit_cast<void*>(body));
  pthread_attr_destroy(&attributes);
  return error;
}

// Ends the program. Without a required thread, work would never complete, and threads that wait for
// it would hang.
[[noreturn]] inline void abort_without_thread(int error) noexcept {
  std::fprintf(stderr,
               "weir: the embedded driver cannot start a thread: %s; raise the limit of "
               "threads (ulimit -u)\n",
               std::strerror(error));
  std::abort();
}

// Whether the driver can continue without the thread. If the system has no thread available, the
// start of an optional thread returns false. The start of a required one tries again for half a
// second, and then ends the program.
enum class thread_requirement : std::uint8_t { required, optional };

// Starts a detached thread. The thread blocks all signals, which are the program's, except two
// kinds: signals caused by the thread's own faults, which would otherwise bypass the program's
// handlers, and SIGURG, which interrupts kernels. Returns false if an optional thread could not be
// started.
template <class Body>
bool start_driver_thread(const char* name, Body body,
                         thread_requirement requirement = thread_requirement::required,
                         std::size_t stack_bytes = 0) noexcept {
  const os::signal_blocker signals{SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGURG};
  pthread_t thread{};
  int error = create_thread(body, stack_bytes, thread);
  for (std::chrono::milliseconds delay{1}; error != 0; delay *= 2) {
    if (requirement == thread_requirement::optional) return false;
    if (delay > std::chrono::milliseconds{256}) abort_without_thread(error);
    std::this_thread::sleep_for(delay);
    error = create_thread(body, stack_bytes, thread);
  }
  pthread_setname_np(thread, name);
  pthread_detach(thread);
  return true;
}

}  // namespace weir::embedded::engine
