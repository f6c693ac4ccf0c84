// SPDX-License-Identifier: Apache-2.0
// sequences/calls/stream_work.cpp - work of streams: waits, host functions, attached memory.
#include "sequences/actions.hpp"

namespace weir::sequences {
namespace {

void wait_event(world& w) {
  const chosen_stream s = any_stream(w);
  const chosen_event e = any_event(w);
  const unsigned flags = w.d.one_of({0u, 0u, 0u, 0u, 0u, 1u, 2u, ~0u});
  if (!can_wait(w, s, e)) return;
  w.text.call(w.driver().cuStreamWaitEvent(s.handle, e.handle, flags),
              fmt::format("cuStreamWaitEvent({}, {}, {:#x})", s.name, e.name, flags));
}

// A default stream has several names, and one name denotes several default streams.
host_log::label* label_for(world& w, const chosen_stream& s) {
  return w.host.make(s.number >= 0
                         ? s.name
                         : fmt::format("{} of {}, thread {}{}", s.name, current_context(w),
                                       w.thread, w.per_thread_form ? "o" : ""));
}

void launch_host_function(world& w) {
  const chosen_stream s = any_stream(w);
  const bool nothing = w.d.one_in(16);
  host_log::label* const label = label_for(w, s);
  const CUresult r =
      w.driver().cuLaunchHostFunc(s.handle, nothing ? nullptr : &host_log::ran, label);
  w.text.call(r, fmt::format("cuLaunchHostFunc({}, {})", s.name, nothing ? "null" : label->text));
}

void callback(world& w) {
  const chosen_stream s = any_stream(w);
  const bool nothing = w.d.one_in(16);
  const unsigned flags = w.d.one_of({0u, 0u, 0u, 0u, 0u, 0u, 1u});
  host_log::label* const label = label_for(w, s);
  const CUresult r = w.driver().cuStreamAddCallback(
      s.handle, nothing ? nullptr : &host_log::on_callback, label, flags);
  w.text.call(r, fmt::format("cuStreamAddCallback({}, {}, {})", s.name,
                             nothing ? "null" : label->text, flags));
}

// Records the host functions that ran so far, once all must have run.
void record_host_log(world& w) {
  sync_all(w);
  for (const std::string& line : w.host.take()) w.text.note(line);
}

}  // namespace

std::span<const action> stream_work_actions() {
  static constexpr action all[] = {
      {10, wait_event}, {6, launch_host_function}, {4, callback}, {2, record_host_log}};
  return all;
}

}  // namespace weir::sequences
