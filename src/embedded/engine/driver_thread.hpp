// engine/driver_thread.hpp - starting the driver's own threads.
#pragma once

#include <initializer_list>
#include <thread>
#include <utility>

#include <pthread.h>
#include <signal.h>

namespace weir::embedded::engine {

// Starts a thread that lives as long as the process. It takes no signals, which are the program's, but for those that
// come of what the thread itself does wrong: blocked, they would end the process past the handlers of the program.
template <class Body>
void start_driver_thread(const char* name, Body body) {
  sigset_t others;
  sigset_t before;
  sigfillset(&others);
  for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP}) sigdelset(&others, own);
  pthread_sigmask(SIG_SETMASK, &others, &before);
  std::thread thread{std::move(body)};
  pthread_setname_np(thread.native_handle(), name);
  thread.detach();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace weir::embedded::engine
