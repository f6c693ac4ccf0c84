// SPDX-License-Identifier: Apache-2.0
// sequences/calls/gate.cpp - calls while a stream is blocked, so that "not ready" is a certain
// answer.
#include "sequences/actions.hpp"
#include "sequences/block_contents.hpp"

#include <algorithm>
#include <map>

namespace weir::sequences {
namespace {

// A stream waits for a word that the host writes at the end; others come to wait for it. No call
// may wait on the host, or use the legacy stream, which would wait for every blocking stream.
struct closed_gate {
  std::map<std::size_t, std::size_t> owners;  // block -> the stream that uses it
  std::vector<std::size_t> touched;           // streams that were given work, blocked or not
};

bool take(world& w, closed_gate& gate, block* in, const chosen_stream& by) {
  if (in == nullptr || in->kind == memory::page || by.number < 0) return false;
  const auto number = static_cast<std::size_t>(in - w.blocks.data());
  return gate.owners.try_emplace(number, by.number).first->second ==
         static_cast<std::size_t>(by.number);
}

stream_object* object_of(world& w, const chosen_stream& s) {
  return s.number < 0 ? nullptr : &w.streams[static_cast<std::size_t>(s.number)];
}
event_object* object_of(world& w, const chosen_event& e) {
  return e.number < 0 ? nullptr : &w.events[static_cast<std::size_t>(e.number)];
}

void record_behind_gate(world& w, closed_gate& gate) {
  const chosen_stream s = made_stream(w);
  const chosen_event e = any_event(w);
  stream_object* const by = object_of(w, s);
  if (by == nullptr) return;
  gate.touched.push_back(static_cast<std::size_t>(s.number));
  const CUresult r = w.driver().cuEventRecord(e.handle, s.handle);
  w.text.call(r, fmt::format("cuEventRecord({}, {})", e.name, s.name));
  if (event_object* const of = object_of(w, e); of != nullptr && r == CUDA_SUCCESS)
    of->held = by->held;
}

void wait_behind_gate(world& w, closed_gate& gate) {
  const chosen_stream s = made_stream(w);
  const chosen_event e = any_event(w);
  stream_object* const by = object_of(w, s);
  if (by == nullptr || !can_wait(w, s, e)) return;
  gate.touched.push_back(static_cast<std::size_t>(s.number));
  const CUresult r = w.driver().cuStreamWaitEvent(s.handle, e.handle, 0);
  w.text.call(r, fmt::format("cuStreamWaitEvent({}, {})", s.name, e.name));
  if (const event_object* const of = object_of(w, e); of != nullptr && r == CUDA_SUCCESS)
    by->held = by->held || of->held;
}

// The answer is certain for a blocked stream, and for a stream without work since the last
// synchronization.
void query_stream(world& w, closed_gate& gate) {
  const chosen_stream s = made_stream(w);
  const stream_object* const by = object_of(w, s);
  if (by == nullptr) return;
  const bool idle = std::find(gate.touched.begin(), gate.touched.end(),
                              static_cast<std::size_t>(s.number)) == gate.touched.end();
  if (by->held || idle)
    w.text.call(w.driver().cuStreamQuery(s.handle), fmt::format("cuStreamQuery({})", s.name));
}

void query_event(world& w, closed_gate&) {
  const chosen_event e = any_event(w);
  const event_object* const of = object_of(w, e);
  if (of == nullptr || of->held)
    w.text.call(w.driver().cuEventQuery(e.handle), fmt::format("cuEventQuery({})", e.name));
}

void elapsed_behind_gate(world& w, closed_gate&) {
  const chosen_event from = any_event(w), to = any_event(w);
  const event_object* const held = object_of(w, w.d.below(2) == 0 ? from : to);
  if (held == nullptr || !held->held) return;
  float milliseconds = 0;
  w.text.call(w.driver().cuEventElapsedTime_v2(&milliseconds, from.handle, to.handle),
              fmt::format("cuEventElapsedTime({}, {})", from.name, to.name));
}

void set_behind_gate(world& w, closed_gate& gate) {
  const chosen_stream s = made_stream(w);
  block* const in = any_block(w);
  if (!take(w, gate, in, s)) return;
  gate.touched.push_back(static_cast<std::size_t>(s.number));
  const chosen_range part = any_range(w, *in);
  const unsigned char value = w.d.one_of<unsigned char>({1, 2, 3});
  const CUresult r = w.driver().cuMemsetD8Async(part.address, value, part.length, s.handle);
  w.text.call(r, fmt::format("cuMemsetD8Async({}, {}, {}, {})", text_of(w, part), value,
                             part.length, s.name));
}

// A copy between host memory would wait on the host.
void copy_behind_gate(world& w, closed_gate& gate) {
  const chosen_stream s = made_stream(w);
  block* const to = any_block(w);
  block* const from = to != nullptr ? any_block(w, to) : nullptr;
  if (from == nullptr) return;
  const auto of_device = [](const block& one) {
    return one.kind == memory::device || one.kind == memory::pooled;
  };
  if (!of_device(*to) || !of_device(*from) || !take(w, gate, to, s) || !take(w, gate, from, s))
    return;
  gate.touched.push_back(static_cast<std::size_t>(s.number));
  const std::size_t length =
      std::min({to->size, from->size, std::size_t{w.d.one_of({1u, 64u, 5000u})}});
  const CUresult r = w.driver().cuMemcpyDtoDAsync_v2(to->address, from->address, length, s.handle);
  w.text.call(
      r, fmt::format("cuMemcpyDtoDAsync({} <- {}, {}, {})", to->name, from->name, length, s.name));
}

void host_function_behind_gate(world& w, closed_gate& gate) {
  const chosen_stream s = made_stream(w);
  if (s.number < 0) return;
  gate.touched.push_back(static_cast<std::size_t>(s.number));
  host_log::label* const label = w.host.make(s.name);
  w.text.call(w.driver().cuLaunchHostFunc(s.handle, &host_log::ran, label),
              fmt::format("cuLaunchHostFunc({}, {})", s.name, label->text));
}

void call_behind_gate(world& w, closed_gate& gate) {
  static constexpr void (*acts[])(world&, closed_gate&) = {
      record_behind_gate,  record_behind_gate, wait_behind_gate, wait_behind_gate,
      query_stream,        query_stream,       query_event,      query_event,
      elapsed_behind_gate, set_behind_gate,    copy_behind_gate, host_function_behind_gate};
  acts[w.d.below(std::size(acts))](w, gate);
}

void hold(world& w) {
  const chosen_stream s = made_stream(w);
  stream_object* const held = object_of(w, s);
  if (held == nullptr || held->blocking) return;
  sync_all(w);
  const std::uint32_t ticket = ++w.p.gates;
  const CUresult r =
      w.driver().cuStreamWaitValue32_v2(s.handle, w.p.gate_word, ticket, CU_STREAM_WAIT_VALUE_GEQ);
  w.text.call(r, fmt::format("hold {}", s.name));
  held->held = r == CUDA_SUCCESS;
  closed_gate gate;
  gate.touched.push_back(static_cast<std::size_t>(s.number));
  for (unsigned left = 2 + w.d.below(10); left > 0 && held->held; --left) call_behind_gate(w, gate);
  *w.p.gate_word_on_host = ticket;
  for (stream_object& one : w.streams) one.held = false;
  for (event_object& one : w.events) one.held = false;
  sync_all(w);
}

}  // namespace

std::span<const action> gate_actions() {
  static constexpr action all[] = {{5, hold}};
  return all;
}

}  // namespace weir::sequences
