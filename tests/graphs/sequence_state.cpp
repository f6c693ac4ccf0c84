// SPDX-License-Identifier: Apache-2.0
// graphs/sequence_state.cpp - makes calls and compares them with the model; waits for running work,
// and destroys everything.
#include "graphs/sequence_state.hpp"

#include <algorithm>

namespace weir::graphs {

sequence_state::sequence_state(driver_under_test& in, concurrency_mode other)
    : target{in}, concurrency{other} {
  target.begin_sequence();
  m.modes.assign(thread_count, CU_STREAM_CAPTURE_MODE_GLOBAL);
  // The legacy stream, and each thread's default stream.
  for (unsigned i = 0; i <= thread_count; ++i) {
    m.streams.push_back({i == 0 ? stream_kind::legacy : stream_kind::per_thread});
    streams.push_back(i == 0 ? CU_STREAM_LEGACY : CU_STREAM_PER_THREAD);
    at(tails, static_cast<object_id>(i)) = nullptr;
  }
}

std::string sequence_state::answered(const call_batch::pending_call& call, std::string& wrong) {
  std::string text = fmt::format(" = {}", name_of(call.result));
  if (call.waited) {
    text += ", and waited for what was held";
    const std::size_t name = call.what.find(' ') + 1;
    waited_.push_back(call.what.substr(name, call.what.find('(') - name));
  }
  if (!wrong.empty()) return text;
  if (!call.expected.allows(call.result))
    wrong = fmt::format("{}{}, not {}", call.what, text, name_of(call.expected.code));
  else if (call.waited && target.limit().is_finding)
    wrong = call.what + text;
  return text;
}

void sequence_state::call(unsigned thread, std::string what, expected_result expected,
                          std::function<CUresult()> make) {
  call_batch::pending_call call{fmt::format("{} {}", thread, what), expected, std::move(make)};
  if (burst_) return burst_->add(thread, std::move(call));
  target.calls().begin(call.what);
  call_batch single;
  single.add(thread, std::move(call));
  single.make(target);
  const call_batch::pending_call& done = single.all()[thread].front();
  last_ = done.result;
  std::string wrong;
  target.calls().finish(answered(done, wrong));
  if (!wrong.empty()) throw finding{wrong};
}

void sequence_state::end_burst() {
  log_line("at once:");
  const std::size_t before = target.calls().end();
  target.calls().begin({});
  for (const call_batch::call_list& calls : burst_->all()) {
    for (const call_batch::pending_call& one : calls)
      target.calls().append(fmt::format("  {}, perhaps\n", one.what));
  }
  burst_->make(target);
  target.calls().forget_from(before);
  std::string wrong;
  for (const call_batch::call_list& calls : burst_->all()) {
    for (const call_batch::pending_call& one : calls)
      log_line(fmt::format("  {}{}", one.what, answered(one, wrong)));
  }
  burst_.reset();
  if (!wrong.empty()) throw finding{wrong};
}

void sequence_state::mark(unsigned thread, object_id stream) {
  if (m.stream(stream).capture >= 0) return;
  CUevent& tail = at(tails, stream);
  call(thread, fmt::format("cuEventRecord(tail of {})", name(stream)), CUDA_SUCCESS,
       [this, &tail, stream] {
         const CUresult made = tail == nullptr
                                   ? driver().cuEventCreate(&tail, CU_EVENT_DISABLE_TIMING)
                                   : CUDA_SUCCESS;
         return made == CUDA_SUCCESS ? driver().cuEventRecord(tail, at(streams, stream)) : made;
       });
}

void sequence_state::hold(object_id stream) {
  object_id made = -1;
  const expected_result expected = m.submit(stream, {}, made);
  const unsigned thread = thread_for(stream);
  // Chosen before the call: the call itself may open the gate, and then its stream is open, too.
  const std::uint32_t opening = target.hold();
  call(thread, fmt::format("cuStreamWaitValue32({})", name(stream)), expected,
       [this, stream, opening] {
         return driver().cuStreamWaitValue32_v2(at(streams, stream), target.gate(), opening,
                                                CU_STREAM_WAIT_VALUE_GEQ);
       });
  mark(thread, stream);
}

void sequence_state::settle() {
  open();
  for (std::size_t i = 0; i < m.streams.size(); ++i) {
    if (m.streams[i].last == history::none) continue;
    target.calls().begin(
        fmt::format("0 cuEventSynchronize(tail of {})", name(static_cast<object_id>(i))));
    target.threads().run(0, [&] {
      // In relaxed mode no capture prohibits it.
      auto mode = CU_STREAM_CAPTURE_MODE_RELAXED;
      (void)driver().cuThreadExchangeStreamCaptureMode(&mode);
      last_ = driver().cuEventSynchronize(tails[i]);
      (void)driver().cuThreadExchangeStreamCaptureMode(&mode);
    });
    target.calls().finish(fmt::format(" = {}", name_of(last_)));
    expect_success(last_, "cuEventSynchronize");
  }
  const std::vector<observation> log = target.take_log();
  std::string ran;
  for (const observation& one : log) ran += fmt::format(" h{}", one.label);
  log_line("ran:" + ran);
  const std::string found = m.executed.check(log, target.words());
  target.clear_words();
  m.complete_all();
  if (!found.empty()) throw finding{found};
}

void sequence_state::end() {
  open();
  for (const capture_state& c : m.captures) {
    if (!c.open || !m.stream(c.origin).is_alive) continue;
    const bool own = m.stream(c.origin).kind == stream_kind::per_thread;
    end_capture(*this, own ? thread_for(c.origin) : c.thread, c.origin, true);
  }
  for (unsigned i = 0; i < thread_count; ++i) {
    auto mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
    call(i, "cuThreadExchangeStreamCaptureMode(0)", CUDA_SUCCESS,
         [&] { return driver().cuThreadExchangeStreamCaptureMode(&mode); });
    if (mode != m.modes[i])
      throw finding{fmt::format("and the mode was {}", static_cast<unsigned>(mode))};
  }
  const auto end_all = [this](const char* what, const auto& of, auto&& is_there, auto end_one) {
    for (std::size_t i = 0; i < of.size(); ++i) {
      if (of[i] == nullptr || !is_there(i)) continue;
      call(0, fmt::format("{}({})", what, i), CUDA_SUCCESS, [&] { return end_one(of[i]); });
    }
  };
  const auto& to = driver();
  end_all(
      "cuEventDestroy, of the tail of", tails, [](std::size_t) { return true; },
      to.cuEventDestroy_v2);
  end_all(
      "cuStreamDestroy", streams,
      [&](std::size_t i) { return i > thread_count && m.streams[i].is_alive; },
      to.cuStreamDestroy_v2);
  end_all(
      "cuGraphExecDestroy", execs, [&](std::size_t i) { return m.execs[i].is_alive; },
      to.cuGraphExecDestroy);
  end_all(
      "cuGraphDestroy", graphs,
      [&](std::size_t i) { return m.graphs[i].is_alive && m.graphs[i].parent < 0; },
      to.cuGraphDestroy);
  end_all(
      "cuEventDestroy", events, [&](std::size_t i) { return m.events[i].is_alive; },
      to.cuEventDestroy_v2);
}

}  // namespace weir::graphs
