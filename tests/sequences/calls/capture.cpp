// SPDX-License-Identifier: Apache-2.0
// sequences/calls/capture.cpp - a capture from beginning to end, with the calls on its streams.
#include "sequences/actions.hpp"
#include "sequences/graphs.hpp"

#include <map>

namespace weir::sequences {
namespace {

// An open capture. Its work does not run, so no call may wait for it.
struct open_capture {
  chosen_stream origin, fork;
  CUevent edge = nullptr;
  bool forked = false;
  std::vector<std::size_t> events{};
  std::map<block*, CUstream>
      owners{};  // which stream may use a block: one only, as nodes of two streams are unordered

  // Returns the stream for the next call.
  const chosen_stream& stream(world& w) const {
    return forked && w.d.below(2) == 1 ? fork : origin;
  }

  // A write to memory that is read-only for the device fails only when it runs.
  bool take(block* in, const chosen_stream& by) {
    if (in != nullptr) in->in_graph = true;
    return in != nullptr && !in->read_only &&
           owners.try_emplace(in, by.handle).first->second == by.handle;
  }
};

void set_in_capture(world& w, open_capture& c) {
  const chosen_stream& s = c.stream(w);
  block* const in = any_block(w);
  if (!c.take(in, s)) return;
  if (in->kind == memory::page) return;  // checked at instantiation
  const std::size_t length = std::min(in->size, std::size_t{w.d.one_of({0u, 1u, 3u, 64u, 5000u})});
  const CUresult r = w.driver().cuMemsetD8Async(in->address, 0x11, length, s.handle);
  w.text.call(r, fmt::format("cuMemsetD8Async({}, 0x11, {}, {})", in->name, length, s.name));
}

void copy_in_capture(world& w, open_capture& c) {
  const chosen_stream& s = c.stream(w);
  block* const to = any_block(w);
  block* const from = any_block(w, to);
  if (!c.take(to, s) || !c.take(from, s)) return;
  const std::size_t length =
      std::min({to->size, from->size, std::size_t{w.d.one_of({0u, 1u, 64u, 4096u})}});
  const CUresult r = w.driver().cuMemcpyAsync(to->address, from->address, length, s.handle);
  w.text.call(r,
              fmt::format("cuMemcpyAsync({} <- {}, {}, {})", to->name, from->name, length, s.name));
}

void host_function_in_capture(world& w, open_capture& c) {
  const chosen_stream& s = c.stream(w);
  host_log::label* const label = w.host.make("graph");
  w.text.call(w.driver().cuLaunchHostFunc(s.handle, &host_log::ran, label),
              fmt::format("cuLaunchHostFunc({}, {})", s.name, label->text));
}

void write_in_capture(world& w, open_capture& c) {
  const chosen_stream& s = c.stream(w);
  block* const in = any_block(w);
  if (!c.take(in, s)) return;
  // Other memory is refused at instantiation.
  if (in->size < 4 || (in->kind != memory::device && in->kind != memory::pinned)) return;
  const CUresult r = w.driver().cuStreamWriteValue32_v2(s.handle, in->address, 9, 0);
  w.text.call(r, fmt::format("cuStreamWriteValue32({}, {}, 9)", s.name, in->name));
}

// Makes the second stream join the capture, or joins it back to the first.
void fork_or_join(world& w, open_capture& c) {
  if (c.fork.handle == c.origin.handle) return;
  const chosen_stream& from = c.forked ? c.fork : c.origin;
  const chosen_stream& to = c.forked ? c.origin : c.fork;
  w.text.call(w.driver().cuEventRecord(c.edge, from.handle),
              fmt::format("cuEventRecord(edge, {})", from.name));
  w.text.call(w.driver().cuStreamWaitEvent(to.handle, c.edge, 0),
              fmt::format("cuStreamWaitEvent({}, edge)", to.name));
  c.forked = !c.forked;
}

void record_or_wait(world& w, open_capture& c) {
  const chosen_stream& s = c.stream(w);
  const chosen_event e = any_event(w);
  const unsigned flags = w.d.one_of({0u, 0u, 1u, 2u});
  if (!can_wait(w, s, e)) return;
  if (e.number >= 0) c.events.push_back(static_cast<std::size_t>(e.number));
  if (w.d.below(2) == 0)
    w.text.call(w.driver().cuEventRecordWithFlags(e.handle, s.handle, flags),
                fmt::format("cuEventRecordWithFlags({}, {}, {})", e.name, s.name, flags));
  else
    w.text.call(w.driver().cuStreamWaitEvent(s.handle, e.handle, flags),
                fmt::format("cuStreamWaitEvent({}, {}, {})", s.name, e.name, flags));
}

void query_status(world& w, open_capture& c) {
  const chosen_stream& s = w.d.below(2) == 0 ? c.origin : c.fork;
  auto status = CU_STREAM_CAPTURE_STATUS_NONE;
  CUgraph graph = nullptr;
  const CUgraphNode* dependencies = nullptr;
  std::size_t count = 0;
  cuuint64_t id = 0;
  const CUresult r =
      w.driver().cuStreamGetCaptureInfo_v2(s.handle, &status, &id, &graph, &dependencies, &count);
  w.text.call(r, fmt::format("cuStreamGetCaptureInfo({})", s.name),
              fmt::format("{} {} {}", static_cast<unsigned>(status), graph != nullptr, count));
}

// Calls that a capture may refuse or be invalidated by, depending on mode, thread and kind of
// stream.
void unsafe(world& w, open_capture& c) {
  const driver_table& d = w.driver();
  const chosen_stream& s = c.origin;
  switch (w.d.below(10)) {
    case 0:
      return w.text.call(d.cuStreamSynchronize(s.handle),
                         fmt::format("cuStreamSynchronize({})", s.name));
    case 1: return w.text.call(d.cuStreamQuery(s.handle), fmt::format("cuStreamQuery({})", s.name));
    case 2: return w.text.call(d.cuEventQuery(c.edge), "cuEventQuery(edge)");
    case 3: return w.text.call(d.cuCtxSynchronize(), "cuCtxSynchronize()");
    case 4: {
      unsigned flags = 0;
      return w.text.call(d.cuStreamGetFlags(s.handle, &flags),
                         fmt::format("cuStreamGetFlags({})", s.name));
    }
    case 5: return w.text.call(d.cuMemsetD8_v2(0, 0, 0), "cuMemsetD8(0, 0, 0)");
    case 6:
      return w.text.call(d.cuStreamBeginCapture_v2(s.handle, CU_STREAM_CAPTURE_MODE_RELAXED),
                         fmt::format("cuStreamBeginCapture({})", s.name));
    case 7: {
      CUdeviceptr made = 0;
      const CUresult r = d.cuMemAlloc_v2(&made, 64);
      w.text.call(r, "cuMemAlloc(64)");
      if (r == CUDA_SUCCESS) w.text.call(d.cuMemFree_v2(made), "cuMemFree(it)");
      return;
    }
    case 8: {
      CUstream made = nullptr;
      const CUresult r = d.cuStreamCreate(&made, 1);
      w.text.call(r, "cuStreamCreate(1)");
      if (r == CUDA_SUCCESS) w.text.call(d.cuStreamDestroy_v2(made), "cuStreamDestroy(it)");
      return;
    }
    default: return w.text.call(d.cuEventRecord(c.edge, nullptr), "cuEventRecord(edge, null)");
  }
}

void exchange_mode(world& w, open_capture&) {
  auto mode = static_cast<CUstreamCaptureMode>(w.d.one_of({0u, 1u, 2u, 3u}));
  const unsigned requested = mode;
  const CUresult r = w.driver().cuThreadExchangeStreamCaptureMode(&mode);
  w.text.call(r, fmt::format("cuThreadExchangeStreamCaptureMode({})", requested),
              fmt::format("{}", static_cast<unsigned>(mode)));
}

void call_in_capture(world& w, open_capture& c) {
  static constexpr void (*acts[])(world&, open_capture&) = {
      set_in_capture,           set_in_capture,   copy_in_capture, copy_in_capture,
      host_function_in_capture, write_in_capture, fork_or_join,    fork_or_join,
      record_or_wait,           query_status,     exchange_mode,   unsafe};
  acts[w.d.below(std::size(acts))](w, c);
}

void end(world& w, open_capture& c) {
  CUgraph graph = nullptr;
  const auto call = [&] {
    const CUresult r = w.driver().cuStreamEndCapture(c.origin.handle, &graph);
    w.text.call(r, fmt::format("cuStreamEndCapture({})", c.origin.name),
                graph != nullptr ? shape_of(w, graph) : "no graph");
  };
  // Sometimes another thread tries to end it.
  if (w.d.one_in(16)) {
    const unsigned other = w.thread == 1 ? 2 : 1;
    w.text.note(fmt::format("thread {}:", other));
    w.p.threads.run(other, call);
  }
  if (graph == nullptr) call();
  if (graph == nullptr) return;
  graph_object made{.handle = graph, .events = c.events};
  for (const auto& [in, by] : c.owners)
    made.used_blocks.push_back(static_cast<std::size_t>(in - w.blocks.data()));
  w.text.note(add_graph(w, made));
}

void capture(world& w) {
  open_capture c{.origin = any_stream(w), .fork = made_stream(w)};
  const auto mode = static_cast<CUstreamCaptureMode>(w.d.one_of({0u, 1u, 2u, 1u, 2u, 3u}));
  sync_all(w);
  if (w.driver().cuEventCreate(&c.edge, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS) return;
  const CUresult began = w.driver().cuStreamBeginCapture_v2(c.origin.handle, mode);
  w.text.call(began, fmt::format("cuStreamBeginCapture({}, {})", c.origin.name,
                                 static_cast<unsigned>(mode)));
  if (began == CUDA_SUCCESS) {
    for (unsigned left = w.d.below(9); left > 0; --left) call_in_capture(w, c);
    if (c.forked && !w.d.one_in(8)) fork_or_join(w, c);
    end(w, c);
  }
  auto back = CU_STREAM_CAPTURE_MODE_GLOBAL;
  (void)w.driver().cuThreadExchangeStreamCaptureMode(&back);
  (void)w.driver().cuEventDestroy_v2(c.edge);
  sync_all(w);
}

void end_without_begin(world& w) {
  const chosen_stream s = any_stream(w);
  CUgraph graph = nullptr;
  w.text.call(w.driver().cuStreamEndCapture(s.handle, &graph),
              fmt::format("cuStreamEndCapture({})", s.name), graph != nullptr ? "a graph" : "");
}

}  // namespace

std::span<const action> capture_actions() {
  static constexpr action all[] = {{5, capture}, {1, end_without_begin}};
  return all;
}

}  // namespace weir::sequences
