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

std::string world::answered(const turn::one& call, std::string& wrong) {
  std::string text = fmt::format(" = {}", name_of(call.made));
  if (call.waited) {
    text += ", and waited for what was held";
    const std::size_t name = call.what.find(' ') + 1;
    waited_.push_back(call.what.substr(name, call.what.find('(') - name));
  }
  if (!wrong.empty()) return text;
  if (!call.expected.may_be(call.made))
    wrong = fmt::format("{}{}, not {}", call.what, text, name_of(call.expected.code));
  else if (call.waited && on.how_patient().is_finding)
    wrong = call.what + text;
  return text;
}

void world::call(unsigned thread, std::string what, answer expected, std::function<CUresult()> make) {
  turn::one call{fmt::format("{} {}", thread, what), expected, std::move(make)};
  if (burst_) return burst_->add(thread, std::move(call));
  on.calls().begin(call.what);
  turn alone;
  alone.add(thread, std::move(call));
  alone.make(on);
  const turn::one& done = alone.all()[thread].front();
  last_ = done.made;
  std::string wrong;
  on.calls().finish(answered(done, wrong));
  if (!wrong.empty()) throw finding{wrong};
}

void world::end_burst() {
  say("at once:");
  const std::size_t before = on.calls().end();
  on.calls().begin({});
  for (const turn::calls& calls : burst_->all()) {
    for (const turn::one& one : calls) on.calls().append(fmt::format("  {}, perhaps\n", one.what));
  }
  burst_->make(on);
  on.calls().forget_from(before);
  std::string wrong;
  for (const turn::calls& calls : burst_->all()) {
    for (const turn::one& one : calls) say(fmt::format("  {}{}", one.what, answered(one, wrong)));
  }
  burst_.reset();
  if (!wrong.empty()) throw finding{wrong};
}

void world::mark(unsigned thread, number stream) {
  if (m.stream(stream).capture >= 0) return;
  CUevent& tail = at(tails, stream);
  call(thread, fmt::format("cuEventRecord(tail of {})", name(stream)), CUDA_SUCCESS, [this, &tail, stream] {
    const CUresult made = tail == nullptr ? driver().cuEventCreate(&tail, CU_EVENT_DISABLE_TIMING) : CUDA_SUCCESS;
    return made == CUDA_SUCCESS ? driver().cuEventRecord(tail, at(streams, stream)) : made;
  });
}

void world::hold(number stream) {
  number made = -1;
  const answer expected = m.submit(stream, {}, made);
  const unsigned thread = thread_for(stream);
  // Chosen before the call, which may be let go itself: then its stream is.
  const std::uint32_t opening = on.hold();
  call(thread, fmt::format("cuStreamWaitValue32({})", name(stream)), expected, [this, stream, opening] {
    return driver().cuStreamWaitValue32_v2(at(streams, stream), on.gate(), opening, CU_STREAM_WAIT_VALUE_GEQ);
  });
  mark(thread, stream);
}

void world::settle() {
  open();
  for (std::size_t i = 0; i < m.streams.size(); ++i) {
    if (m.streams[i].last == history::none) continue;
    on.calls().begin(fmt::format("0 cuEventSynchronize(tail of {})", name(static_cast<number>(i))));
    on.threads().run(0, [&] {
      // In relaxed mode nothing that captures forbids it.
      auto mode = CU_STREAM_CAPTURE_MODE_RELAXED;
      (void)driver().cuThreadExchangeStreamCaptureMode(&mode);
      last_ = driver().cuEventSynchronize(tails[i]);
      (void)driver().cuThreadExchangeStreamCaptureMode(&mode);
    });
    on.calls().finish(fmt::format(" = {}", name_of(last_)));
    must(last_, "cuEventSynchronize");
  }
  const std::vector<seen> log = on.take_log();
  std::string ran;
  for (const seen& one : log) ran += fmt::format(" h{}", one.label);
  say("ran:" + ran);
  const std::string found = m.ran.check(log, on.words());
  on.clear_words();
  m.settled();
  if (!found.empty()) throw finding{found};
}

void world::end() {
  open();
  for (const capture_state& c : m.captures) {
    if (!c.open || !m.stream(c.origin).live) continue;
    const bool own = m.stream(c.origin).kind == stream_kind::per_thread;
    end_capture(*this, own ? thread_for(c.origin) : c.thread, c.origin, true);
  }
  for (unsigned i = 0; i < thread_count; ++i) {
    auto mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
    call(i, "cuThreadExchangeStreamCaptureMode(0)", CUDA_SUCCESS,
         [&] { return driver().cuThreadExchangeStreamCaptureMode(&mode); });
    if (mode != m.modes[i]) throw finding{fmt::format("and the mode was {}", static_cast<unsigned>(mode))};
  }
  const auto end_all = [this](const char* what, const auto& of, auto&& is_there, auto end_one) {
    for (std::size_t i = 0; i < of.size(); ++i) {
      if (of[i] == nullptr || !is_there(i)) continue;
      call(0, fmt::format("{}({})", what, i), CUDA_SUCCESS, [&] { return end_one(of[i]); });
    }
  };
  const auto& to = driver();
  end_all(
      "cuEventDestroy, of the tail of", tails, [](std::size_t) { return true; }, to.cuEventDestroy_v2);
  end_all(
      "cuStreamDestroy", streams, [&](std::size_t i) { return i > thread_count && m.streams[i].live; },
      to.cuStreamDestroy_v2);
  end_all(
      "cuGraphExecDestroy", execs, [&](std::size_t i) { return m.execs[i].live; }, to.cuGraphExecDestroy);
  end_all(
      "cuGraphDestroy", graphs, [&](std::size_t i) { return m.graphs[i].live && m.graphs[i].parent < 0; },
      to.cuGraphDestroy);
  end_all(
      "cuEventDestroy", events, [&](std::size_t i) { return m.events[i].live; }, to.cuEventDestroy_v2);
}

}  // namespace weir::graphs
