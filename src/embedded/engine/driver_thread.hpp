// engine/driver_thread.hpp - starting the driver's own threads.
#pragma once

#include <bit>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <thread>
#include <type_traits>

#include <pthread.h>
#include <signal.h>

namespace weir::embedded::engine {

// A thread, also where the machine has none to give just now. There is no way on without: work would stand for ever, and
// those who wait for it. So the program ends, and says why, when there still is none after half a second. The body is a
// pointer's worth of captures: a std::thread would need memory for it.
template <class Body>
pthread_t patiently_started(const Body& body) noexcept {
  static_assert(sizeof(Body) == sizeof(void*) && std::is_trivially_copyable_v<Body>);
  constexpr auto run = [](void* captures) -> void* {
    std::bit_cast<Body>(captures)();
    return nullptr;
  };
  for (std::chrono::milliseconds pause{1};; pause *= 2) {
    pthread_t made{};
    const int error = pthread_create(&made, nullptr, run, std::bit_cast<void*>(body));
    if (error == 0) return made;
    if (pause > std::chrono::milliseconds{256}) {
      std::fprintf(stderr,
                   "weir: the embedded driver cannot start a thread: %s; raise the limit of threads (ulimit -u)\n",
                   std::strerror(error));
      std::abort();
    }
    std::this_thread::sleep_for(pause);
  }
}

// Starts a thread that lives as long as the process. It takes no signals, which are the program's, but for those that
// come of what the thread itself does wrong: blocked, they would end the process past the handlers of the program.
template <class Body>
void start_driver_thread(const char* name, Body body) noexcept {
  sigset_t others;
  sigset_t before;
  sigfillset(&others);
  for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP}) sigdelset(&others, own);
  pthread_sigmask(SIG_SETMASK, &others, &before);
  const pthread_t thread = patiently_started(body);
  pthread_setname_np(thread, name);
  pthread_detach(thread);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace weir::embedded::engine
