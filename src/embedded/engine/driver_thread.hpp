// engine/driver_thread.hpp - starting the driver's own threads.
#pragma once

#include <thread>
#include <utility>

#include <pthread.h>
#include <signal.h>

namespace weir::embedded::engine {

// Starts a thread that lives as long as the process. It takes no signals: those are the program's.
template <class Body>
void start_driver_thread(const char* name, Body body) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread{std::move(body)};
  pthread_setname_np(thread.native_handle(), name);
  thread.detach();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace weir::embedded::engine
