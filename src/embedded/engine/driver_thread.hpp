// engine/driver_thread.hpp - starting the driver's own threads.
#pragma once

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <system_error>
#include <thread>

#include <pthread.h>
#include <signal.h>

namespace weir::embedded::engine {

// A thread, also where the machine has none to give just now. There is no way on without: work would stand for ever, and
// those who wait for it. So the program ends, and says why, when there still is none after half a second.
template <class Body>
std::thread patiently_started(const Body& body) {
  for (std::chrono::milliseconds pause{1};; pause *= 2) {
    try {
      return std::thread{body};
    } catch (const std::system_error& error) {
      if (pause > std::chrono::milliseconds{256}) {
        std::fprintf(stderr,
                     "weir: the embedded driver cannot start a thread: %s; raise the limit of threads (ulimit -u)\n",
                     error.code().message().c_str());
        std::abort();
      }
    }
    std::this_thread::sleep_for(pause);
  }
}

// Starts a thread that lives as long as the process. It takes no signals, which are the program's, but for those that
// come of what the thread itself does wrong: blocked, they would end the process past the handlers of the program.
template <class Body>
void start_driver_thread(const char* name, Body body) {
  sigset_t others;
  sigset_t before;
  sigfillset(&others);
  for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP}) sigdelset(&others, own);
  pthread_sigmask(SIG_SETMASK, &others, &before);
  std::thread thread = patiently_started(body);
  pthread_setname_np(thread.native_handle(), name);
  thread.detach();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace weir::embedded::engine
