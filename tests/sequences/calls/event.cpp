// SPDX-License-Identifier: Apache-2.0
// sequences/calls/event.cpp - events: created, recorded, queried, destroyed.
#include "sequences/actions.hpp"

namespace weir::sequences {
namespace {

constexpr std::size_t max_events = 6;

void create_event(world& w) {
  const unsigned flags =
      w.d.one_of({0u, 0u, 1u, 2u, 2u, 3u, 4u, 5u, 6u, 7u, 8u, 0x10u, 0x80000000u});
  const bool nowhere = w.d.one_in(32) || live_indices(w.events).size() >= max_events;
  CUevent made = nullptr;
  const CUresult r = w.driver().cuEventCreate(nowhere ? nullptr : &made, flags);
  std::string name;
  if (r == CUDA_SUCCESS) {
    name = fmt::format("e{}", w.events.size());
    w.events.push_back({.handle = made, .name = name, .context = current_context(w)});
  }
  w.text.call(r, fmt::format("cuEventCreate({}{:#x})", nowhere ? "null, " : "", flags), name);
}

void destroy_event(world& w) {
  const chosen_event e = any_event(w);
  const CUresult r = w.driver().cuEventDestroy_v2(e.handle);
  w.text.call(r, fmt::format("cuEventDestroy({})", e.name));
  if (r == CUDA_SUCCESS && e.number >= 0) w.events[static_cast<std::size_t>(e.number)].live = false;
}

void record_event(world& w) {
  const chosen_event e = any_event(w);
  const chosen_stream s = any_stream(w);
  w.text.call(w.driver().cuEventRecord(e.handle, s.handle),
              fmt::format("cuEventRecord({}, {})", e.name, s.name));
}

void record_with_flags(world& w) {
  const chosen_event e = any_event(w);
  const chosen_stream s = any_stream(w);
  const unsigned flags = w.d.one_of({0u, 0u, 0u, 1u, 2u, ~0u});
  w.text.call(w.driver().cuEventRecordWithFlags(e.handle, s.handle, flags),
              fmt::format("cuEventRecordWithFlags({}, {}, {:#x})", e.name, s.name, flags));
}

void synchronize_event(world& w) {
  const chosen_event e = any_event(w);
  w.text.call(w.driver().cuEventSynchronize(e.handle),
              fmt::format("cuEventSynchronize({})", e.name));
  w.text.call(w.driver().cuEventQuery(e.handle), fmt::format("cuEventQuery({})", e.name));
}

// Records only whether there is a time, not its value.
void elapsed_time(world& w) {
  const chosen_event from = any_event(w), to = any_event(w);
  const bool newer = w.d.below(2) == 1, nowhere = w.d.one_in(32);
  sync_all(w);
  float milliseconds = -1.0F;
  const auto call = newer ? w.driver().cuEventElapsedTime_v2 : w.driver().cuEventElapsedTime;
  const CUresult r = call(nowhere ? nullptr : &milliseconds, from.handle, to.handle);
  const bool same = r == CUDA_SUCCESS && from.handle == to.handle;
  w.text.call(r,
              fmt::format("cuEventElapsedTime{}({}{}, {})", newer ? "_v2" : "",
                          nowhere ? "null, " : "", from.name, to.name),
              same ? fmt::format("{}", milliseconds) : "");
}

}  // namespace

std::span<const action> event_actions() {
  static constexpr action all[] = {{10, create_event},     {5, destroy_event},
                                   {12, record_event},     {4, record_with_flags},
                                   {8, synchronize_event}, {4, elapsed_time}};
  return all;
}

}  // namespace weir::sequences
