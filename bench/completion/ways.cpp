// completion/ways.cpp - weir's ways, and those of the driver and of other libraries.
#include "completion/ways.hpp"

#include "completion/detached.hpp"
#include "os/spin_lock.hpp"
#include "harness/raw.hpp"
#include "harness/timing.hpp"
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
detached note_end(Awaited what, arrival& to) {
  co_await what;
  to.note();
}

weir::task<> end_of(weir::completion what) { co_await what; }

class by_coroutine : public way {
 public:
  by_coroutine(std::span<const weir::stream> streams, std::vector<arrival>& arrivals)
      : streams_{streams}, arrivals_{arrivals} {}
  void await(std::size_t i) override { note_end(streams_[i].completion(), arrivals_[i]); }

 private:
  std::span<const weir::stream> streams_;
  std::vector<arrival>& arrivals_;
};

class by_polling : public by_coroutine {
 public:
  using by_coroutine::by_coroutine;
  void meanwhile() override { drive_.poll(); }

 private:
  weir::reactor_drive drive_{weir::device{}};
};

// Waker: host_waker or callback_waker.
template <class Waker>
class by_waker : public way {
 public:
  by_waker(std::span<const weir::stream> streams, std::vector<arrival>& arrivals)
      : streams_{streams}, arrivals_{arrivals} {}
  void await(std::size_t i) override { note_end(Waker{streams_[i].get(), thread_}, arrivals_[i]); }

 private:
  std::span<const weir::stream> streams_;
  std::vector<arrival>& arrivals_;
  woken_threads thread_;
};

class by_query : public way {
 public:
  by_query(std::span<const weir::stream> streams, std::vector<arrival>& arrivals)
      : streams_{streams}, arrivals_{arrivals} {
    pending_.resize(streams.size());
    for (std::size_t i = 0; i < streams.size(); ++i) events_.push_back(std::make_unique<raw_event>());
  }
  void await(std::size_t i) override {
    ok(raw().cuEventRecord(*events_[i], streams_[i].get()));
    pending_[i] = true;
  }
  void meanwhile() override {
    for (std::size_t i = 0; i < pending_.size(); ++i) {
      if (!pending_[i] || raw().cuEventQuery(*events_[i]) == CUDA_ERROR_NOT_READY) continue;
      pending_[i] = false;
      arrivals_[i].note();
    }
  }

 private:
  std::span<const weir::stream> streams_;
  std::vector<arrival>& arrivals_;
  std::vector<std::unique_ptr<raw_event>> events_;
  std::vector<char> pending_;
};

// A thread for each stream, asleep until it is to wait. Prepare gives what it is to do then.
class by_threads : public way {
 public:
  using prepare = std::function<std::function<void()>(std::size_t stream)>;
  by_threads(std::size_t streams, std::vector<arrival>& arrivals, prepare what) : prepare_{std::move(what)} {
    for (std::size_t i = 0; i < streams; ++i) waiting_.push_back(std::make_unique<waiting_thread>(arrivals[i]));
  }
  void await(std::size_t i) override { waiting_[i]->give(prepare_(i)); }

 private:
  class waiting_thread {
   public:
    explicit waiting_thread(arrival& to) : thread_{[this, &to] { run(to); }} {}
    waiting_thread(const waiting_thread&) = delete;
    waiting_thread& operator=(const waiting_thread&) = delete;
    ~waiting_thread() {
      give(nullptr);
      thread_.join();
    }
    void give(std::function<void()> wait) {
      wait_ = std::move(wait);
      given_.fetch_add(1);
      given_.notify_one();
    }

   private:
    void run(arrival& to) {
      for (unsigned seen = 0;; ++seen) {
        given_.wait(seen);
        if (!wait_) return;
        wait_();
        to.note();
      }
    }

    std::function<void()> wait_;
    std::atomic<unsigned> given_{0};
    std::thread thread_;
  };

  prepare prepare_;
  std::vector<std::unique_ptr<waiting_thread>> waiting_;
};

}  // namespace

void arrival::note() { at.store(clock::now().time_since_epoch().count(), std::memory_order_release); }

// Lets others run that have no processor.
void way::meanwhile() {
  for (int i = 0; i < 16; ++i) weir::detail::pause();
  sched_yield();
}

std::string text_of(way_name name) {
  switch (name) {
    case way_name::coroutine: return "coroutine";
    case way_name::polled: return "polled";
    case way_name::waiting: return "wait";
    case way_name::sync_wait: return "sync_wait";
    case way_name::event_query: return "event_query";
    case way_name::stream_sync: return "stream_sync";
    case way_name::blocking_event: return "blocking_event";
    case way_name::host_function: return "host_function";
    case way_name::callback: return "callback";
  }
  return {};
}

std::unique_ptr<way> make_way(way_name name, std::span<const weir::stream> streams, std::vector<arrival>& arrivals) {
  const auto threads = [&](by_threads::prepare what) {
    return std::make_unique<by_threads>(streams.size(), arrivals, std::move(what));
  };
  switch (name) {
    case way_name::coroutine: return std::make_unique<by_coroutine>(streams, arrivals);
    case way_name::polled: return std::make_unique<by_polling>(streams, arrivals);
    case way_name::host_function: return std::make_unique<by_waker<host_waker>>(streams, arrivals);
    case way_name::callback: return std::make_unique<by_waker<callback_waker>>(streams, arrivals);
    case way_name::event_query: return std::make_unique<by_query>(streams, arrivals);
    case way_name::waiting:
      return threads([streams](std::size_t i) { return [c = streams[i].completion()] { c.wait(); }; });
    case way_name::sync_wait:
      return threads(
          [streams](std::size_t i) { return [c = streams[i].completion()] { weir::sync_wait(end_of(c)); }; });
    case way_name::stream_sync:
      return threads([streams](std::size_t i) { return [s = streams[i].get()] { ok(raw().cuStreamSynchronize(s)); }; });
    case way_name::blocking_event: {
      auto events = std::make_shared<std::vector<std::unique_ptr<raw_event>>>();
      for (std::size_t i = 0; i < streams.size(); ++i) {
        events->push_back(std::make_unique<raw_event>(CU_EVENT_DISABLE_TIMING | CU_EVENT_BLOCKING_SYNC));
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
