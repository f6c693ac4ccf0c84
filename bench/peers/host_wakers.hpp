// peers/host_wakers.hpp - coroutines that a function called by the driver wakes: the way of most other libraries.
#pragma once

#include "harness/raw.hpp"

#include <condition_variable>
#include <coroutine>
#include <deque>
#include <mutex>
#include <thread>

namespace bench {

// A thread that resumes what it is given, and sleeps without any.
class woken_thread {
 public:
  woken_thread() : thread_{[this] { run(); }} {}
  woken_thread(const woken_thread&) = delete;
  woken_thread& operator=(const woken_thread&) = delete;
  ~woken_thread() {
    resume({});
    thread_.join();
  }

  void resume(std::coroutine_handle<> what) {
    {
      const std::lock_guard hold{lock_};
      ready_.push_back(what);
    }
    news_.notify_one();
  }

 private:
  void run() {
    for (;;) {
      std::coroutine_handle<> next;
      {
        std::unique_lock hold{lock_};
        news_.wait(hold, [this] { return !ready_.empty(); });
        next = ready_.front();
        ready_.pop_front();
      }
      if (!next) return;
      next.resume();
    }
  }

  std::mutex lock_;
  std::condition_variable news_;
  std::deque<std::coroutine_handle<>> ready_;
  std::thread thread_;  // last: it uses the others
};

// co_await host_waker{stream, thread}: until a host function behind the stream's work has run.
class host_waker {
 public:
  host_waker(CUstream stream, woken_thread& on) : stream_{stream}, on_{&on} {}
  [[nodiscard]] bool await_ready() const { return false; }
  void await_suspend(std::coroutine_handle<> awaiting) {
    awaiting_ = awaiting;
    ok(raw().cuLaunchHostFunc(stream_, &called, this));
  }
  void await_resume() const {}

 private:
  static void called(void* self) {
    const host_waker& me = *static_cast<host_waker*>(self);
    me.on_->resume(me.awaiting_);
  }

  CUstream stream_;
  woken_thread* on_;
  std::coroutine_handle<> awaiting_;
};

// The same by a status callback, the driver's older way.
class callback_waker {
 public:
  callback_waker(CUstream stream, woken_thread& on) : stream_{stream}, on_{&on} {}
  [[nodiscard]] bool await_ready() const { return false; }
  void await_suspend(std::coroutine_handle<> awaiting) {
    awaiting_ = awaiting;
    ok(raw().cuStreamAddCallback(stream_, &called, this, 0));
  }
  void await_resume() const {}

 private:
  static void called(CUstream, CUresult, void* self) {
    const callback_waker& me = *static_cast<callback_waker*>(self);
    me.on_->resume(me.awaiting_);
  }

  CUstream stream_;
  woken_thread* on_;
  std::coroutine_handle<> awaiting_;
};

}  // namespace bench
