// SPDX-License-Identifier: Apache-2.0
// peers/host_wakers.hpp - coroutines that a driver callback resumes, as in most other libraries.
#pragma once

#include "harness/raw.hpp"

#include <condition_variable>
#include <coroutine>
#include <cstddef>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>
#include <weir/completion/executor.hpp>

namespace bench {

// Threads that call what they are given, and sleep otherwise.
class resume_threads {
 public:
  explicit resume_threads(std::size_t count = 1) {
    for (std::size_t i = 0; i < count; ++i) threads_.emplace_back([this] { run(); });
  }
  resume_threads(const resume_threads&) = delete;
  resume_threads& operator=(const resume_threads&) = delete;
  ~resume_threads() {
    {
      const std::lock_guard lock{mutex_};
      stopping_ = true;
    }
    work_available_.notify_all();
    for (std::thread& each : threads_) each.join();
  }

  void call(weir::continuation what) {
    {
      const std::lock_guard lock{mutex_};
      ready_.push_back(what);
    }
    work_available_.notify_one();
  }
  void resume(std::coroutine_handle<> what) {
    call({[](void* frame) noexcept { std::coroutine_handle<>::from_address(frame).resume(); },
          what.address()});
  }

 private:
  void run() {
    std::unique_lock lock{mutex_};
    for (;;) {
      work_available_.wait(lock, [this] { return stopping_ || !ready_.empty(); });
      if (ready_.empty()) return;
      const weir::continuation next = ready_.front();
      ready_.pop_front();
      lock.unlock();
      next();
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable work_available_;
  std::deque<weir::continuation> ready_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

// co_await host_waker{stream, threads}: waits until a host function behind the stream's work has
// run.
class host_waker {
 public:
  host_waker(CUstream stream, resume_threads& on) : stream_{stream}, on_{&on} {}
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
  resume_threads* on_;
  std::coroutine_handle<> awaiting_;
};

// Like host_waker, with cuStreamAddCallback, the driver's older call.
class callback_waker {
 public:
  callback_waker(CUstream stream, resume_threads& on) : stream_{stream}, on_{&on} {}
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
  resume_threads* on_;
  std::coroutine_handle<> awaiting_;
};

}  // namespace bench
