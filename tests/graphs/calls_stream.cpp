// SPDX-License-Identifier: Apache-2.0
// graphs/calls_stream.cpp - work in streams, queries, and creation and destruction of streams and
// events in between.
#include "graphs/sequence_state.hpp"

namespace weir::graphs {

// Writes word by word, so that an unordered reader never sees half of one.
void submit(sequence_state& w, unsigned thread, object_id s, const work& what) {
  object_id made = -1;
  const expected_result expected = w.m.submit(s, what, made);
  const bool runs = expected.code == CUDA_SUCCESS && made < 0;
  const CUstream stream = sequence_state::at(w.streams, s);
  const auto& d = w.driver();
  switch (what.what) {
    case work::kind::host:
      w.call(thread, fmt::format("cuLaunchHostFunc({}, h{})", w.name(s), what.slot), expected,
             [&d, stream, label = w.label_of(what)] {
               return d.cuLaunchHostFunc(stream, &driver_under_test::log_host_function, label);
             });
      break;
    case work::kind::set:
      w.call(thread,
             fmt::format("cuMemsetD32Async({}, w{} = {})", w.name(s), what.slot, what.value),
             expected, [&d, stream, to = w.target.address(what.slot), value = what.value] {
               return d.cuMemsetD32Async(to, value, 1, stream);
             });
      break;
    default:
      w.call(thread, fmt::format("cuMemcpyAsync({}, w{} = w{})", w.name(s), what.slot, what.source),
             expected,
             [&d, stream, to = w.target.address(what.slot), from = w.target.address(what.source)] {
               return d.cuMemcpyAsync(to, from, sizeof(std::uint32_t), stream);
             });
  }
  if (runs) w.mark(thread, s);
}

namespace {

// The maximum number of each kind in a sequence.
constexpr std::size_t most = 6;

std::size_t count_alive(const auto& objects) {
  std::size_t count = 0;
  for (const auto& one : objects) count += one.is_alive ? 1 : 0;
  return count;
}

}  // namespace

void work_in_stream(sequence_state& w) {
  const object_id s = w.any_stream(w.d.below(5) != 0);
  const capture_state* const c = w.m.capture_of(s);
  const unsigned thread = w.thread_for(s);
  for (unsigned left = 1 + w.d.below(3); left > 0; --left)
    submit(w, thread, s, w.any_work(c == nullptr ? -1 : c->graph));
}

namespace {

void create_stream(sequence_state& w) {
  if (count_alive(w.m.streams) >= most + thread_count) return;
  const bool blocking = w.d.one_in(3);
  w.m.streams.push_back({blocking ? stream_kind::blocking : stream_kind::non_blocking});
  const auto s = static_cast<object_id>(w.m.streams.size()) - 1;
  CUstream& made = sequence_state::at(w.streams, s);
  sequence_state::at(w.tails, s) = nullptr;
  w.call(w.d.below(thread_count), fmt::format("cuStreamCreate() {}", w.name(s)), CUDA_SUCCESS, [&] {
    return w.driver().cuStreamCreate(&made, blocking ? CU_STREAM_DEFAULT : CU_STREAM_NON_BLOCKING);
  });
}

void destroy_stream(sequence_state& w) {
  const object_id s =
      w.any(w.m.streams, [&](object_id one) { return one > static_cast<object_id>(thread_count); });
  if (s < 0) return;
  const unsigned thread = w.thread_for(s);
  w.m.end_stream(s);
  w.call(thread, fmt::format("cuStreamDestroy({})", w.name(s)), CUDA_SUCCESS,
         [&] { return w.driver().cuStreamDestroy_v2(sequence_state::at(w.streams, s)); });
}

void create_event(sequence_state& w) {
  if (count_alive(w.m.events) >= most) return;
  w.m.events.push_back({.of_nodes = w.d.one_in(3)});
  const auto e = static_cast<object_id>(w.m.events.size()) - 1;
  CUevent& made = sequence_state::at(w.events, e);
  w.call(w.d.below(thread_count), fmt::format("cuEventCreate() e{}", e), CUDA_SUCCESS,
         [&] { return w.driver().cuEventCreate(&made, CU_EVENT_DISABLE_TIMING); });
}

// A GPU's driver crashes on a launch of nodes whose event is destroyed.
void destroy_event(sequence_state& w) {
  const object_id e = w.any(w.m.events, [&](object_id one) { return !w.m.is_referenced(one); });
  if (e < 0) return;
  w.m.event(e).is_alive = false;
  w.call(w.d.below(thread_count), fmt::format("cuEventDestroy(e{})", e), CUDA_SUCCESS,
         [&] { return w.driver().cuEventDestroy_v2(sequence_state::at(w.events, e)); });
}

// Idle streams are ready; others may be.
expected_result ready(const expected_result& expected, bool idle) {
  return expected.code != CUDA_SUCCESS || idle
             ? expected
             : expected_result{CUDA_SUCCESS, CUDA_ERROR_NOT_READY};
}

void query_stream(sequence_state& w) {
  const object_id s = w.any_stream(w.d.one_in(8));
  const unsigned thread = w.thread_for(s);
  const bool idle = w.m.idle(s), waits = w.d.below(2) == 0;
  const expected_result expected = w.m.query_stream(thread, s);
  const CUstream stream = sequence_state::at(w.streams, s);
  if (waits)
    w.call(thread, fmt::format("cuStreamSynchronize({})", w.name(s)), expected,
           [&] { return w.driver().cuStreamSynchronize(stream); });
  else
    w.call(thread, fmt::format("cuStreamQuery({})", w.name(s)), ready(expected, idle),
           [&] { return w.driver().cuStreamQuery(stream); });
}

void query_event(sequence_state& w) {
  const object_id e = w.any_event(w.d.one_in(3));
  if (e < 0) return;
  const unsigned thread = w.d.below(thread_count);
  const bool idle = !w.m.event(e).may_be_pending;
  const expected_result expected = w.m.query_event(thread, e);
  if (w.d.below(2) == 0)
    w.call(thread, fmt::format("cuEventSynchronize(e{})", e), expected,
           [&] { return w.driver().cuEventSynchronize(sequence_state::at(w.events, e)); });
  else
    w.call(thread, fmt::format("cuEventQuery(e{})", e), ready(expected, idle),
           [&] { return w.driver().cuEventQuery(sequence_state::at(w.events, e)); });
}

void break_something(sequence_state& w) {
  const object_id s = w.any_stream(true);
  const unsigned thread = w.thread_for(s);
  const CUstream stream = sequence_state::at(w.streams, s);
  switch (w.d.below(w.concurrency == concurrency_mode::exclusive ? 5 : 4)) {
    case 0: {
      const expected_result expected = w.m.wait_for_no_event(s);
      return w.call(thread, fmt::format("cuStreamWaitEvent({}, null)", w.name(s)), expected,
                    [&] { return w.driver().cuStreamWaitEvent(stream, nullptr, 0); });
    }
    case 1: {
      const expected_result expected = w.m.query_flags(s);
      return w.call(thread, fmt::format("cuStreamGetFlags({})", w.name(s)), expected, [&] {
        unsigned flags = 0;
        return w.driver().cuStreamGetFlags(stream, &flags);
      });
    }
    case 2: {
      const expected_result expected = w.m.call_unsafe(thread);
      return w.call(thread, "cuMemAlloc(64)", expected, [&] {
        CUdeviceptr memory = 0;
        const CUresult r = w.driver().cuMemAlloc_v2(&memory, 64);
        return r == CUDA_SUCCESS ? w.driver().cuMemFree_v2(memory) : r;
      });
    }
    case 3:
      return w.call(thread, fmt::format("cuLaunchHostFunc({}, null)", w.name(s)),
                    CUDA_ERROR_INVALID_VALUE,
                    [&] { return w.driver().cuLaunchHostFunc(stream, nullptr, nullptr); });
    default: {
      const expected_result expected = w.m.synchronize_context();
      return w.call(thread, "cuCtxSynchronize()", expected,
                    [&] { return w.driver().cuCtxSynchronize(); });
    }
  }
}

void settle(sequence_state& w) { w.settle(); }

}  // namespace

std::span<const action> stream_actions() {
  static constexpr action all[] = {{16, work_in_stream}, {3, create_stream},   {1, destroy_stream},
                                   {3, create_event},    {1, destroy_event},   {1, query_stream},
                                   {1, query_event},     {1, break_something}, {2, settle}};
  return all;
}

}  // namespace weir::graphs
