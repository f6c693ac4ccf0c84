// SPDX-License-Identifier: Apache-2.0
// graph.cpp - the cost of captures, launches and updates of graphs through weir, compared with the
// driver's own calls.
#include "harness/figure.hpp"
#include "harness/raw.hpp"
#include "harness/timing.hpp"

#include <cstddef>
#include <cstdint>
#include <weir/capture/capture.hpp>
#include <weir/graph/graph.hpp>
#include <weir/graph/graph_exec.hpp>
#include <weir/memory/buffer.hpp>
#include <weir/memory/fill.hpp>
#include <weir/stream/stream.hpp>

namespace bench {
namespace {

constexpr std::size_t rounds = 500;
constexpr int batch = 32;
constexpr int operations = 100;

// A stream, and a graph with `fills` fills, one after the other.
struct recorded {
  explicit recorded(int fills)
      : graph{weir::capture(stream, [&] {
          for (int i = 0; i < fills; ++i) weir::fill(stream, memory, i);
        })} {}

  weir::device device;
  weir::stream stream{device};
  weir::buffer<int> memory{stream, 1};
  weir::graph graph;
};

double measure_capture() {
  const weir::device device;
  const weir::stream stream{device};
  weir::buffer<int> memory{stream, 1};
  const auto address = static_cast<CUdeviceptr>(reinterpret_cast<std::uintptr_t>(memory.data()));
  const auto& table = raw();
  return ratio(
      rounds,
      [&] {
        CUgraph graph = nullptr;
        ok(table.cuStreamBeginCapture_v2(stream.get(), CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
        for (int i = 0; i < operations; ++i)
          ok(table.cuMemsetD32Async(address, 1, 1, stream.get()));
        ok(table.cuStreamEndCapture(stream.get(), &graph));
        ok(table.cuGraphDestroy(graph));
      },
      [&] {
        const weir::graph graph = weir::capture(stream, [&] {
          for (int i = 0; i < operations; ++i) weir::fill(stream, memory, 1);
        });
      },
      [] {});
}

double measure_launch() {
  const recorded one{1};
  const weir::graph_exec exec = one.graph.instantiate();
  const auto& table = raw();
  return ratio(
      rounds,
      [&] {
        for (int i = 0; i < batch; ++i) ok(table.cuGraphLaunch(exec.get(), one.stream.get()));
      },
      [&] {
        for (int i = 0; i < batch; ++i) exec.launch(one.stream);
      },
      [&] { one.stream.sync(); });
}

double measure_upload() {
  const recorded some{10};
  const weir::graph_exec exec = some.graph.instantiate();
  const auto& table = raw();
  return ratio(
      rounds,
      [&] {
        for (int i = 0; i < batch; ++i) ok(table.cuGraphUpload(exec.get(), some.stream.get()));
      },
      [&] {
        for (int i = 0; i < batch; ++i) exec.upload(some.stream);
      },
      [&] { some.stream.sync(); });
}

double measure_update() {
  const recorded some{10};
  weir::graph_exec exec = some.graph.instantiate();
  const auto& table = raw();
  return ratio(
      rounds,
      [&] {
        for (int i = 0; i < batch; ++i) {
          CUgraphExecUpdateResultInfo result = {};
          ok(table.cuGraphExecUpdate_v2(exec.get(), some.graph.get(), &result));
        }
      },
      [&] {
        for (int i = 0; i < batch; ++i) static_cast<void>(exec.update(some.graph));
      },
      [] {});
}

const registration capture{{.name = "capture",
                            .unit = "x the raw calls",
                            .budget = 1.05,
                            .budget_on = driver_filter::gpu,
                            .measure = measure_capture}};
const registration launch{{.name = "graph_launch",
                           .unit = "x the raw call",
                           .budget = 1.02,
                           .budget_on = driver_filter::gpu,
                           .measure = measure_launch}};
const registration upload{{.name = "graph_upload",
                           .unit = "x the raw call",
                           .budget = 1.02,
                           .budget_on = driver_filter::gpu,
                           .measure = measure_upload}};
const registration update{{.name = "graph_update",
                           .unit = "x the raw call",
                           .budget = 1.02,
                           .budget_on = driver_filter::gpu,
                           .measure = measure_update}};

}  // namespace
}  // namespace bench
