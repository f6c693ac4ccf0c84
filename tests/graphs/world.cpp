// graphs/world.cpp - calls made and held against the model; what runs waited for, and all of it ended.
#include "graphs/world.hpp"

#include <algorithm>

namespace weir::graphs {

world::world(lane& in, company other) : on{in}, with{other} {
  on.begin_sequence();
  m.modes.assign(thread_count, CU_STREAM_CAPTURE_MODE_GLOBAL);
  // The legacy stream, and the threads' own.
  for (unsigned i = 0; i <= thread_count; ++i) {
    m.streams.push_back({i == 0 ? stream_kind::legacy : stream_kind::per_thread});
    streams.push_back(i == 0 ? CU_STREAM_LEGACY : CU_STREAM_PER_THREAD);
    at(tails, static_cast<number>(i)) = nullptr;
  }
}

void world::call(unsigned thread, std::string what, answer expected, std::function<CUresult()> make) {
  what = fmt::format("{} {}", thread, what);
  if (in_burst_) {
    burst_[thread].push_back({std::move(what), expected, std::move(make)});
    return;
  }
  on.threads().run(thread, [&] { last_ = make(); });
  text.push_back(fmt::format("{} = {}", what, name_of(last_)));
  if (!expected.may_be(last_)) throw finding{fmt::format("{}, not {}", text.back(), name_of(expected.code))};
}

void world::end_burst() {
  in_burst_ = false;
  std::array<crew::act, thread_count> acts;
  for (unsigned i = 0; i < thread_count; ++i) {
    acts[i] = [&calls = burst_[i]] {
      for (later& one : calls) one.made = one.make();
    };
  }
  on.threads().run_all(acts);
  std::string found;
  text.emplace_back("at once:");
  for (std::vector<later>& calls : burst_) {
    for (const later& one : calls) {
      text.push_back(fmt::format("  {} = {}", one.what, name_of(one.made)));
      if (found.empty() && !one.expected.may_be(one.made))
        found = fmt::format("{}, not {}", text.back(), name_of(one.expected.code));
    }
    calls.clear();
  }
  if (!found.empty()) throw finding{found};
}

void world::mark(unsigned thread, number stream) {
  if (m.stream(stream).capture >= 0) return;
  CUevent& tail = at(tails, stream);
  call(thread, fmt::format("cuEventRecord(tail of {})", name(stream)), CUDA_SUCCESS, [this, &tail, stream] {
    if (tail == nullptr) must(driver().cuEventCreate(&tail, CU_EVENT_DISABLE_TIMING), "cuEventCreate");
    return driver().cuEventRecord(tail, at(streams, stream));
  });
}

void world::hold(number stream) {
  number made = -1;
  const answer expected = m.submit(stream, {}, made);
  const unsigned thread = thread_for(stream);
  call(thread, fmt::format("cuStreamWaitValue32({})", name(stream)), expected, [this, stream] {
    return driver().cuStreamWaitValue32_v2(at(streams, stream), on.gate(), on.next_opening(), CU_STREAM_WAIT_VALUE_GEQ);
  });
  mark(thread, stream);
}

void world::settle() {
  open();
  for (std::size_t i = 0; i < m.streams.size(); ++i) {
    if (m.streams[i].last == history::none) continue;
    on.threads().run(0, [&] {
      // In relaxed mode nothing that captures forbids it.
      auto mode = CU_STREAM_CAPTURE_MODE_RELAXED;
      (void)driver().cuThreadExchangeStreamCaptureMode(&mode);
      last_ = driver().cuEventSynchronize(tails[i]);
      (void)driver().cuThreadExchangeStreamCaptureMode(&mode);
    });
    text.push_back(fmt::format("0 cuEventSynchronize(tail of {}) = {}", name(static_cast<number>(i)), name_of(last_)));
    must(last_, "cuEventSynchronize");
  }
  const std::vector<seen> log = on.take_log();
  std::string ran;
  for (const seen& one : log) ran += fmt::format(" h{}", one.label);
  text.push_back("ran:" + ran);
  const std::string found = m.ran.check(log, on.words());
  on.clear_words();
  m.settled();
  if (!found.empty()) throw finding{found};
}

void world::end() noexcept {
  open();
  const auto& to = driver();
  const auto end_captures = [&] {
    auto mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    (void)to.cuThreadExchangeStreamCaptureMode(&mode);
    for (std::size_t i = 1; i < streams.size(); ++i) {
      CUgraph graph = nullptr;
      if (m.streams[i].live && to.cuStreamEndCapture(streams[i], &graph) == CUDA_SUCCESS && graph != nullptr &&
          std::ranges::find(graphs, graph) == graphs.end())
        left.push_back(graph);
    }
    mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
    (void)to.cuThreadExchangeStreamCaptureMode(&mode);
  };
  for (unsigned i = 0; i < thread_count; ++i) on.threads().run(i, end_captures);
  on.threads().run(0, [&] {
    for (const CUevent tail : tails) {
      if (tail != nullptr) (void)to.cuEventSynchronize(tail);
      if (tail != nullptr) (void)to.cuEventDestroy_v2(tail);
    }
    for (std::size_t i = thread_count + 1; i < streams.size(); ++i) {
      if (m.streams[i].live) (void)to.cuStreamDestroy_v2(streams[i]);
    }
    for (std::size_t i = 0; i < execs.size(); ++i) {
      if (m.execs[i].live) (void)to.cuGraphExecDestroy(execs[i]);
    }
    for (std::size_t i = 0; i < graphs.size(); ++i) {
      if (m.graphs[i].live && m.graphs[i].parent < 0 && graphs[i] != nullptr) (void)to.cuGraphDestroy(graphs[i]);
    }
    for (const CUgraph graph : left) (void)to.cuGraphDestroy(graph);
    for (std::size_t i = 0; i < events.size(); ++i) {
      if (m.events[i].live) (void)to.cuEventDestroy_v2(events[i]);
    }
  });
}

}  // namespace weir::graphs
