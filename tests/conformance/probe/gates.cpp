// SPDX-License-Identifier: Apache-2.0
// probe/gates.cpp - blocking a stream until the test opens a gate, and detecting whether a call
// blocks.
#include "probe/gates.hpp"

#include "probe/driver.hpp"
#include "probe/record.hpp"

#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

namespace weir::conformance {

struct HostGate::Shared {
  std::mutex mutex;
  std::condition_variable changed;
  bool is_open = false;
  int entered = 0;
  int left = 0;

  void open() {
    std::lock_guard lock(mutex);
    is_open = true;
    changed.notify_all();
  }

  bool reaches(const int& count, int n, int ms) {
    std::unique_lock lock(mutex);
    return wait_for(changed, lock, ms, [&] { return count >= n; });
  }
};

HostGate::HostGate() : shared_(new Shared) {
  on_release([s = shared_] { s->open(); });
}

CUhostFn HostGate::func() const {
  return [](void* p) {
    auto* s = static_cast<Shared*>(p);
    std::unique_lock lock(s->mutex);
    s->entered++;
    s->changed.notify_all();
    s->changed.wait_for(lock, std::chrono::milliseconds(gate_limit_ms()),
                        [&] { return s->is_open; });
    s->left++;
    s->changed.notify_all();
  };
}

void* HostGate::data() const { return shared_; }
CUresult HostGate::try_arm(CUstream s) { return cuLaunchHostFunc(s, func(), data()); }
void HostGate::arm(CUstream s) { OK(cuLaunchHostFunc(s, func(), data())); }
void HostGate::open() { shared_->open(); }
bool HostGate::entered(int n, int ms) { return shared_->reaches(shared_->entered, n, ms); }
bool HostGate::left(int n, int ms) { return shared_->reaches(shared_->left, n, ms); }
int HostGate::entered_count() {
  std::lock_guard lock(shared_->mutex);
  return shared_->entered;
}

ValueGate::ValueGate() : cell_(new_cell(0)) {
  on_release([c = cell_] { c.set(1); });
}
void ValueGate::arm(CUstream s) {
  OK(cuStreamWaitValue32(s, cell_.d, 1, CU_STREAM_WAIT_VALUE_GEQ));
}
CUresult ValueGate::try_arm(CUstream s) {
  return cuStreamWaitValue32(s, cell_.d, 1, CU_STREAM_WAIT_VALUE_GEQ);
}

BlockingResult blocking(const std::function<void()>& release, const std::function<CUresult()>& f,
                        int ms) {
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  bool blocked = false;
  std::thread releaser([&] {
    std::unique_lock lock(mutex);
    if (wait_for(changed, lock, ms, [&] { return done; })) return;
    blocked = true;
    lock.unlock();
    release();
  });
  auto finish = [&] {
    {
      std::lock_guard lock(mutex);
      done = true;
    }
    changed.notify_all();
    releaser.join();
  };
  CUresult res;
  try {
    res = f();
  } catch (...) {
    finish();
    throw;
  }
  finish();
  return {res, blocked};
}

void record_blocking(Rec& r, const std::string& key, const BlockingResult& b) {
  const bool free = key[0] == '~';
  const std::string name = free ? key.substr(1) : key;
  r.k(name, b.res);
  r.k((free ? "~" : "") + name + ".blocked", b.blocked);
}

void on_thread(const std::function<void()>& f, bool with_ctx) {
  std::exception_ptr failure;
  std::string stopped_at;
  bool stopped = false;
  std::thread t([&] {
    try {
      if (with_ctx) OK(cuCtxSetCurrent(g.ctx));
      f();
    } catch (const Abort& a) {
      stopped = true;
      stopped_at = a.what;
    } catch (...) {
      failure = std::current_exception();
    }
  });
  t.join();
  if (stopped) throw Abort{"thread:" + stopped_at};
  if (failure) std::rethrow_exception(failure);
}

void rec_waits(Rec& r, const std::string& key, CUstream first, CUstream second) {
  Cell c = new_cell();
  ValueGate v;
  v.arm(first);
  mark(second, c);
  r.k(key + ".waits", !early(c));
  v.open();
  r.k(key + ".done", late(c));
  OK(cuCtxSynchronize());
}

}  // namespace weir::conformance
