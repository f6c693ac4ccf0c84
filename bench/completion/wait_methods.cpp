// SPDX-License-Identifier: Apache-2.0
// completion/wait_methods.cpp - the wait methods of weir, of the driver and of other libraries.
#include "completion/wait_methods.hpp"

#include "completion/detached.hpp"
#include "harness/raw.hpp"
#include "harness/timing.hpp"
#include "os/spin_lock.hpp"
#include "peers/host_wakers.hpp"

#include <sched.h>

#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <weir/completion/completion.hpp>
#include <weir/completion/reactor.hpp>
#include <weir/completion/sync_wait.hpp>
#include <weir/completion/task.hpp>

namespace bench {
namespace {

template <class Awaited>
detached record_end(Awaited what, arrival& to) {
  co_await what;
  to.record();
}

weir::task<> end_of(weir::completion what) { co_await what; }

class coroutine_method : public wait_method {
 public:
  coroutine_method(std::span<const weir::stream> streams, std::vector<arrival>& arrivals)
      : streams_{streams}, arrivals_{arrivals} {}
  void await(std::size_t i) override { record_end(streams_[i].completion(), arrivals_[i]); }

 private:
  std::span<const weir::stream> streams_;
  std::vector<arrival>& arrivals_;
};

class polling_method : public coroutine_method {
 public:
  using coroutine_method::coroutine_method;
  void poll() override { poller_.poll(); }

 private:
  weir::completion_poller poller_{weir::device{}};
};

// Waker: host_waker or callback_waker.
template <class Waker>
class waker_method : public wait_method {
 public:
  waker_method(std::span<const weir::stream> streams, std::vector<arrival>& arrivals)
      : streams_{streams}, arrivals_{arrivals} {}
  void await(std::size_t i) override {
    record_end(Waker{streams_[i].get(), thread_}, arrivals_[i]);
  }

 private:
  std::span<const weir::stream> streams_;
  std::vector<arrival>& arrivals_;
  resume_threads thread_;
};

class query_method : public wait_method {
 public:
  query_method(std::span<const weir::stream> streams, std::vector<arrival>& arrivals)
      : streams_{streams}, arrivals_{arrivals} {
    pending_.resize(streams.size());
    for (std::size_t i = 0; i < streams.size(); ++i)
      events_.push_back(std::make_unique<raw_event>());
  }
  void await(std::size_t i) override {
    ok(raw().cuEventRecord(*events_[i], streams_[i].get()));
    pending_[i] = true;
  }
  void poll() override {
    for (std::size_t i = 0; i < pending_.size(); ++i) {
      if (!pending_[i] || raw().cuEventQuery(*events_[i]) == CUDA_ERROR_NOT_READY) continue;
      pending_[i] = false;
      arrivals_[i].record();
    }
  }

 private:
  std::span<const weir::stream> streams_;
  std::vector<arrival>& arrivals_;
  std::vector<std::unique_ptr<raw_event>> events_;
  std::vector<char> pending_;
};

// A thread for each stream, asleep until it has to wait. Prepare returns the function that it
// then calls.
class thread_method : public wait_method {
 public:
  using prepare = std::function<std::function<void()>(std::size_t stream)>;
  thread_method(std::size_t streams, std::vector<arrival>& arrivals, prepare what)
      : prepare_{std::move(what)} {
    for (std::size_t i = 0; i < streams; ++i)
      waiting_.push_back(std::make_unique<waiting_thread>(arrivals[i]));
  }
  void await(std::size_t i) override { waiting_[i]->start_wait(prepare_(i)); }

 private:
  class waiting_thread {
   public:
    explicit waiting_thread(arrival& to) : thread_{[this, &to] { run(to); }} {}
    waiting_thread(const waiting_thread&) = delete;
    waiting_thread& operator=(const waiting_thread&) = delete;
    ~waiting_thread() {
      start_wait(nullptr);
      thread_.join();
    }
    void start_wait(std::function<void()> wait) {
      wait_ = std::move(wait);
      requests_.fetch_add(1);
      requests_.notify_one();
    }

   private:
    void run(arrival& to) {
      for (unsigned seen = 0;; ++seen) {
        requests_.wait(seen);
        if (!wait_) return;
        wait_();
        to.record();
      }
    }

    std::function<void()> wait_;
    std::atomic<unsigned> requests_{0};
    std::thread thread_;
  };

  prepare prepare_;
  std::vector<std::unique_ptr<waiting_thread>> waiting_;
};

}  // namespace

void arrival::record() {
  at.store(clock::now().time_since_epoch().count(), std::memory_order_release);
}

// Yields to threads that have no processor.
void wait_method::poll() {
  for (int i = 0; i < 16; ++i) weir::os::pause();
  sched_yield();
}

std::string name_of(wait_method_kind name) {
  switch (name) {
    case wait_method_kind::coroutine: return "coroutine";
    case wait_method_kind::polled: return "polled";
    case wait_method_kind::waiting: return "wait";
    case wait_method_kind::sync_wait: return "sync_wait";
    case wait_method_kind::event_query: return "event_query";
    case wait_method_kind::stream_sync: return "stream_sync";
    case wait_method_kind::blocking_event: return "blocking_event";
    case wait_method_kind::host_function: return "host_function";
    case wait_method_kind::callback: return "callback";
  }
  return {};
}

std::unique_ptr<wait_method> make_wait_method(wait_method_kind name,
                                              std::span<const weir::stream> streams,
                                              std::vector<arrival>& arrivals) {
  const auto threads = [&](thread_method::prepare what) {
    return std::make_unique<thread_method>(streams.size(), arrivals, std::move(what));
  };
  switch (name) {
    case wait_method_kind::coroutine: return std::make_unique<coroutine_method>(streams, arrivals);
    case wait_method_kind::polled: return std::make_unique<polling_method>(streams, arrivals);
    case wait_method_kind::host_function:
      return std::make_unique<waker_method<host_waker>>(streams, arrivals);
    case wait_method_kind::callback:
      return std::make_unique<waker_method<callback_waker>>(streams, arrivals);
    case wait_method_kind::event_query: return std::make_unique<query_method>(streams, arrivals);
    case wait_method_kind::waiting:
      return threads(
          [streams](std::size_t i) { return [c = streams[i].completion()] { c.wait(); }; });
    case wait_method_kind::sync_wait:
      return threads([streams](std::size_t i) {
        return [c = streams[i].completion()] { weir::sync_wait(end_of(c)); };
      });
    case wait_method_kind::stream_sync:
      return threads([streams](std::size_t i) {
        return [s = streams[i].get()] { ok(raw().cuStreamSynchronize(s)); };
      });
    case wait_method_kind::blocking_event: {
      auto events = std::make_shared<std::vector<std::unique_ptr<raw_event>>>();
      for (std::size_t i = 0; i < streams.size(); ++i) {
        events->push_back(
            std::make_unique<raw_event>(CU_EVENT_DISABLE_TIMING | CU_EVENT_BLOCKING_SYNC));
      }
      return threads([events, streams](std::size_t i) {
        const CUevent event = *(*events)[i];
        ok(raw().cuEventRecord(event, streams[i].get()));
        return [event] { ok(raw().cuEventSynchronize(event)); };
      });
    }
  }
  return nullptr;
}

}  // namespace bench
