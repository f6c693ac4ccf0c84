// SPDX-License-Identifier: Apache-2.0
// server/servers.cpp - servers with a coroutine or a thread for each request.
#include "server/servers.hpp"

#include "completion/detached.hpp"
#include "harness/raw.hpp"
#include "peers/host_wakers.hpp"
#include "server/request_batcher.hpp"

#include <thread>
#include <utility>
#include <weir/completion/completion.hpp>
#include <weir/completion/sync_wait.hpp>
#include <weir/completion/task.hpp>
#include <weir/completion/when_all_values.hpp>
#include <weir/device/context.hpp>

namespace bench {
namespace {

// Wait: queues a request, and returns the awaitable for it.
template <class Wait>
weir::task<> serve(requests& all, std::size_t slot, server_run& to, Wait wait) {
  while (to.is_running()) {
    const auto began = clock::now();
    co_await wait(slot);
    to.record_answer(slot, began);
    all.check(slot);
  }
  to.finish_slot();
}

detached begin(weir::task<> work) { co_await std::move(work); }

template <class Wait>
void serve_all(requests& all, server_run& to, Wait wait) {
  for (std::size_t i = 0; i < all.slots(); ++i) begin(serve(all, i, to, wait));
  to.wait();
}

void serve_by_thread(requests& all, std::size_t slot, server_run& to, unsigned event_flags) {
  const weir::context_scope current{weir::device{}};
  const raw_event end{event_flags};
  while (to.is_running()) {
    const auto began = clock::now();
    all.queue_raw(slot);
    ok(raw().cuEventRecord(end, all.stream_of(slot).get()));
    ok(raw().cuEventSynchronize(end));
    to.record_answer(slot, began);
    all.check(slot);
  }
  to.finish_slot();
}

// All coroutines run on the reactor thread.
void run_coroutines(requests& all, server_run& to) {
  serve_all(all, to, [&](std::size_t slot) { return all.queue(slot); });
}

// The reactor thread passes them to other threads.
void run_coroutines_on(std::size_t threads, requests& all, server_run& to) {
  resume_threads pool{threads};
  const auto on_pool = [&pool](weir::continuation what) { pool.call(what); };
  serve_all(all, to, [&](std::size_t slot) { return all.queue(slot).resume_on(on_pool); });
}

// Each thread waits for its own requests, and resumes its own coroutines.
void run_coroutines_in(std::size_t threads, requests& all, server_run& to) {
  std::vector<std::jthread> loops;
  for (std::size_t first = 0; first < threads; ++first) {
    loops.emplace_back([&all, &to, threads, first] {
      std::vector<weir::task<>> tasks;
      for (std::size_t slot = first; slot < all.slots(); slot += threads) {
        tasks.push_back(serve(all, slot, to, [&all](std::size_t of) { return all.queue(of); }));
      }
      weir::sync_wait(weir::when_all(std::move(tasks)));
    });
  }
}

// Creates the coroutines of one thread: first the clients, then one for each stream that answers
// groups. So the clients have sent their requests when the groups start.
template <class Wait>
std::vector<weir::task<>> gathered(request_batcher& groups, std::size_t first, std::size_t step,
                                   requests& all, server_run& to, Wait wait) {
  std::vector<weir::task<>> made;
  for (std::size_t slot = first; slot < all.slots(); slot += step) {
    made.push_back(serve(all, slot, to, [&groups](std::size_t of) { return groups.answer(of); }));
  }
  const std::size_t streams =
      (made.size() + request_batcher::max_batch - 1) / request_batcher::max_batch;
  for (std::size_t i = 0; i < streams; ++i)
    made.push_back(groups.serve(all.stream_of(first + i * step), wait));
  return made;
}

void run_coroutines_gathered(std::size_t threads, requests& all, server_run& to) {
  std::vector<std::jthread> loops;
  for (std::size_t first = 0; first < threads; ++first) {
    loops.emplace_back([&all, &to, threads, first] {
      request_batcher groups{all};
      const auto wait = [](const weir::stream& of) { return of.completion(); };
      weir::sync_wait(weir::when_all(gathered(groups, first, threads, all, to, wait)));
    });
  }
}

void run_host_functions(std::size_t threads, requests& all, server_run& to) {
  resume_threads pool{threads};
  serve_all(all, to, [&](std::size_t slot) {
    all.queue_raw(slot);
    return host_waker{all.stream_of(slot).get(), pool};
  });
  all.sync();  // the last host functions have left the pool
}

void run_host_functions_gathered(std::size_t threads, requests& all, server_run& to) {
  std::vector<std::jthread> starters;
  for (std::size_t first = 0; first < threads; ++first) {
    starters.emplace_back([&all, &to, threads, first] {
      request_batcher groups{all};
      resume_threads one;  // all work of this batcher runs there
      auto begin_all = [&] {
        const auto wait = [&one](const weir::stream& of) { return host_waker{of.get(), one}; };
        for (weir::task<>& each : gathered(groups, first, threads, all, to, wait))
          begin(std::move(each));
      };
      one.call(
          {[](void* all_of_them) noexcept { (*static_cast<decltype(begin_all)*>(all_of_them))(); },
           &begin_all});
      to.wait();
      all.sync();
    });
  }
}

void run_threads(requests& all, server_run& to, unsigned event_flags) {
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < all.slots(); ++i) {
    threads.emplace_back([&, i] { serve_by_thread(all, i, to, event_flags); });
  }
}

// Reuses a slot before its request is answered: the driver's queue limits the number in flight.
void run_queued_only(std::size_t threads, requests& all, server_run& to) {
  std::vector<std::jthread> queuing;
  for (std::size_t first = 0; first < threads; ++first) {
    queuing.emplace_back([&all, &to, threads, first] {
      const weir::context_scope current{weir::device{}};
      while (to.is_running()) {
        for (std::size_t slot = first; slot < all.slots(); slot += threads) {
          const auto began = clock::now();
          all.queue_raw(slot);
          to.record_answer(slot, began);
        }
      }
      for (std::size_t slot = first; slot < all.slots(); slot += threads) {
        ok(raw().cuStreamSynchronize(all.stream_of(slot).get()));
        to.finish_slot();
      }
    });
  }
}

}  // namespace

std::string text_of(server which) {
  switch (which) {
    case server::coroutines: return "coroutines";
    case server::coroutines_on_4: return "coroutines_on_4";
    case server::coroutines_in_8: return "coroutines_in_8";
    case server::coroutines_gathered: return "coroutines_gathered";
    case server::threads: return "threads";
    case server::spinning_threads: return "spinning_threads";
    case server::host_functions: return "host_functions";
    case server::host_functions_on_4: return "host_functions_on_4";
    case server::host_functions_gathered: return "host_functions_gathered";
    case server::queued_only: return "queued_only";
  }
  return {};
}

void run(server which, requests& all, server_run& to) {
  switch (which) {
    case server::coroutines: return run_coroutines(all, to);
    case server::coroutines_on_4: return run_coroutines_on(4, all, to);
    case server::coroutines_in_8: return run_coroutines_in(8, all, to);
    case server::coroutines_gathered: return run_coroutines_gathered(4, all, to);
    case server::threads:
      return run_threads(all, to, CU_EVENT_DISABLE_TIMING | CU_EVENT_BLOCKING_SYNC);
    case server::spinning_threads: return run_threads(all, to, CU_EVENT_DISABLE_TIMING);
    case server::host_functions: return run_host_functions(1, all, to);
    case server::host_functions_on_4: return run_host_functions(4, all, to);
    case server::host_functions_gathered: return run_host_functions_gathered(4, all, to);
    case server::queued_only: return run_queued_only(8, all, to);
  }
}

}  // namespace bench
