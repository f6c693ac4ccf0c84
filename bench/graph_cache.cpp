// SPDX-License-Identifier: Apache-2.0
// graph_cache.cpp - the cost that a hit in a graph cache adds to the launch, compared with the
// driver's own call.
#include "harness/figure.hpp"
#include "harness/raw.hpp"
#include "harness/timing.hpp"

#include <cstddef>
#include <stdexcept>
#include <utility>
#include <vector>
#include <weir/capture/capture.hpp>
#include <weir/graph/graph_cache.hpp>
#include <weir/graph/graph_exec.hpp>
#include <weir/memory/buffer.hpp>
#include <weir/memory/fill.hpp>
#include <weir/stream/stream.hpp>

namespace bench {
namespace {

constexpr std::size_t rounds = 500;
constexpr int batch = 32;

// Returns the nanoseconds that the cache adds to a launch, with `keys` keys used in turn. Batches
// of the raw call and of the cache alternate; the result is the median of the differences of
// neighbors.
double measure_hit(int keys) {
  const weir::device device;
  const weir::stream stream{device};
  weir::buffer<int> memory{stream, 1};
  const auto body = [&](weir::stream_ref in) { weir::fill(in, memory, 1); };
  std::vector<weir::graph_exec> execs;
  weir::graph_cache<int> cache;
  for (int key = 0; key < keys; ++key) {
    execs.push_back(weir::capture(stream, [&] { body(stream); }).instantiate());
    cache.run(stream, key, body);
  }
  stream.sync();
  const auto& table = raw();
  const auto launch = [&] {
    for (int i = 0; i < batch; ++i)
      ok(table.cuGraphLaunch(execs[static_cast<std::size_t>(i % keys)], stream));
  };
  const auto use = [&] {
    for (int i = 0; i < batch; ++i) cache.run(stream, i % keys, body);
  };
  const auto timed = [&](const auto& work) {
    const double time = time_once(work);
    stream.sync();
    return time / batch;
  };
  std::vector<double> added;
  for (std::size_t round = 0; round < rounds; ++round) {
    const bool raw_first = round % 2 == 0;
    const double first = raw_first ? timed(launch) : timed(use);
    const double second = raw_first ? timed(use) : timed(launch);
    added.push_back(raw_first ? second - first : first - second);
  }
  if (cache.counts().replayed != rounds * batch)
    throw std::runtime_error{"not every use was a replay"};
  return median(std::move(added));
}

const registration hit{
    {.name = "graph_cache/hit", .unit = "ns added to the raw launch", .budget = 100, .measure = [] {
       return measure_hit(1);
     }}};
const registration hit_of_many{{.name = "graph_cache/hit_of_32",
                                .unit = "ns added to the raw launch",
                                .budget = 100,
                                .measure = [] { return measure_hit(32); }}};

}  // namespace
}  // namespace bench
