// SPDX-License-Identifier: Apache-2.0
// sequences/host_threads.cpp - several host threads, of which one acts at a time.
#include "sequences/host_threads.hpp"

namespace weir::sequences {

host_threads::host_threads() {
  for (worker& one : workers_) one.thread = std::thread{[&one] { worker_main(one); }};
}

host_threads::~host_threads() {
  for (worker& one : workers_) {
    one.status = state::stopping;
    one.status.notify_one();
    one.thread.join();
  }
}

void host_threads::run(unsigned thread, const std::function<void()>& act) {
  if (thread == 0) return act();
  worker& one = workers_[thread - 1];
  one.act = &act;
  one.status = state::requested;
  one.status.notify_one();
  one.status.wait(state::requested);
}

void host_threads::worker_main(worker& self) {
  for (;;) {
    self.status.wait(state::idle);
    if (self.status == state::stopping) return;
    (*self.act)();
    self.status = state::idle;
    self.status.notify_one();
  }
}

}  // namespace weir::sequences
