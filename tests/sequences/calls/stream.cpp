// SPDX-License-Identifier: Apache-2.0
// sequences/calls/stream.cpp - streams: created, queried, destroyed.
#include "sequences/actions.hpp"

#include <algorithm>

namespace weir::sequences {
namespace {

constexpr std::size_t max_streams = 6;

std::string add(world& w, CUstream made, unsigned flags) {
  w.streams.push_back({.handle = made,
                       .name = fmt::format("s{}", w.streams.size()),
                       .context = current_context(w),
                       .blocking = (flags & 1) == 0});
  return w.streams.back().name;
}

void create_stream(world& w) {
  const unsigned flags = w.d.one_of({0u, 1u, 1u, 1u, 0u, 1u, 2u, 3u, 0x80000000u});
  const bool full = live_indices(w.streams).size() >= max_streams, nowhere = full || w.d.one_in(32);
  CUstream made = nullptr;
  const CUresult r = w.driver().cuStreamCreate(nowhere ? nullptr : &made, flags);
  w.text.call(r, fmt::format("cuStreamCreate({}{:#x})", nowhere ? "null, " : "", flags),
              r == CUDA_SUCCESS ? add(w, made, flags) : "");
}

void create_with_priority(world& w) {
  const unsigned flags = w.d.one_of({0u, 1u, 1u, 1u, 2u});
  const int priority = w.d.one_of({0, -1, -2, -5, -6, 1, 100, -100});
  if (live_indices(w.streams).size() >= max_streams) return;
  CUstream made = nullptr;
  const CUresult r = w.driver().cuStreamCreateWithPriority(&made, flags, priority);
  w.text.call(r, fmt::format("cuStreamCreateWithPriority({:#x}, {})", flags, priority),
              r == CUDA_SUCCESS ? add(w, made, flags) : "");
}

void destroy_stream(world& w) {
  const chosen_stream s = w.d.one_in(8) ? any_stream(w) : made_stream(w);
  if (s.number >= 0) {
    for (block& one : w.blocks) {
      if (one.last == s.number) order_after_last_use(w, one, {});
    }
  }
  const CUresult r = w.driver().cuStreamDestroy_v2(s.handle);
  w.text.call(r, fmt::format("cuStreamDestroy({})", s.name));
  if (r == CUDA_SUCCESS && s.number >= 0)
    w.streams[static_cast<std::size_t>(s.number)].live = false;
}

void get_stream_flags(world& w) {
  const chosen_stream s = any_stream(w);
  const bool nowhere = w.d.one_in(32);
  unsigned flags = 99;
  const CUresult r = w.driver().cuStreamGetFlags(s.handle, nowhere ? nullptr : &flags);
  w.text.call(r, fmt::format("cuStreamGetFlags({})", s.name), fmt::format("{}", flags));
}

void get_priority(world& w) {
  const chosen_stream s = any_stream(w);
  const bool nowhere = w.d.one_in(32);
  int priority = 99;
  const CUresult r = w.driver().cuStreamGetPriority(s.handle, nowhere ? nullptr : &priority);
  w.text.call(r, fmt::format("cuStreamGetPriority({})", s.name), fmt::format("{}", priority));
}

// Records an id as the number of the first stream that had it, which shows which streams are equal.
void get_stream_id(world& w) {
  const chosen_stream s = any_stream(w);
  unsigned long long id = 0;
  const CUresult r = w.driver().cuStreamGetId(s.handle, w.d.one_in(32) ? nullptr : &id);
  std::string known;
  if (r == CUDA_SUCCESS) {
    auto at = std::find(w.stream_ids.begin(), w.stream_ids.end(), id);
    if (at == w.stream_ids.end()) at = w.stream_ids.insert(at, id);
    known = fmt::format("id{}", at - w.stream_ids.begin());
  }
  w.text.call(r, fmt::format("cuStreamGetId({})", s.name), known);
}

void get_context(world& w) {
  const chosen_stream s = any_stream(w);
  CUcontext context = nullptr;
  CUgreenCtx green = nullptr;
  const bool newer = w.d.below(2) == 1, nowhere = w.d.one_in(32);
  const CUresult r =
      newer ? w.driver().cuStreamGetCtx_v2(s.handle, nowhere ? nullptr : &context, &green)
            : w.driver().cuStreamGetCtx(s.handle, nowhere ? nullptr : &context);
  w.text.call(r, fmt::format("cuStreamGetCtx{}({})", newer ? "_v2" : "", s.name),
              name_of(w, context) + (green != nullptr ? " green" : ""));
}

void get_stream_device(world& w) {
  const chosen_stream s = any_stream(w);
  CUdevice device = -1;
  const CUresult r = w.driver().cuStreamGetDevice(s.handle, w.d.one_in(32) ? nullptr : &device);
  w.text.call(r, fmt::format("cuStreamGetDevice({})", s.name), fmt::format("{}", device));
}

// The answer is certain once all work is complete.
void query(world& w) {
  const chosen_stream s = any_stream(w);
  sync_all(w);
  w.text.call(w.driver().cuStreamQuery(s.handle), fmt::format("cuStreamQuery({})", s.name));
}

void synchronize_stream(world& w) {
  const chosen_stream s = any_stream(w);
  w.text.call(w.driver().cuStreamSynchronize(s.handle),
              fmt::format("cuStreamSynchronize({})", s.name));
}

void is_capturing(world& w) {
  const chosen_stream s = any_stream(w);
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  const CUresult r = w.driver().cuStreamIsCapturing(s.handle, w.d.one_in(16) ? nullptr : &status);
  w.text.call(r, fmt::format("cuStreamIsCapturing({})", s.name),
              fmt::format("{}", static_cast<unsigned>(status)));
}

}  // namespace

std::span<const action> stream_actions() {
  static constexpr action all[] = {
      {14, create_stream}, {8, create_with_priority}, {8, destroy_stream}, {3, get_stream_flags},
      {3, get_priority},   {3, get_stream_id},        {3, get_context},    {2, get_stream_device},
      {3, query},          {6, synchronize_stream},   {1, is_capturing},
  };
  return all;
}

}  // namespace weir::sequences
