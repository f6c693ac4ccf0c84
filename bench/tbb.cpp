// SPDX-License-Identifier: Apache-2.0
// tbb.cpp - the embedded driver's cost for a node of a graph, compared with oneTBB's flow graph.
#include "harness/figure.hpp"
#include "harness/raw_graph.hpp"
#include "harness/timing.hpp"

#include <dlfcn.h>

#include <atomic>
#include <memory>
#include <string>

namespace bench {
namespace {

constexpr std::size_t nodes = 1000;
constexpr std::size_t rounds = 100;
// A batch shows how a graph is replayed. In single turns, each side would mostly wait for a
// processor, because the other's threads still look for work.
constexpr int batch = 10;

// Returns the oneTBB side, from the library that was built beside this program.
std::unique_ptr<flow_graph> make_peer([[maybe_unused]] graph_shape shape,
                                      [[maybe_unused]] void (*function)(void*),
                                      [[maybe_unused]] unsigned* word) {
#ifdef WEIR_BENCH_FLOW_GRAPH
  static void* const library = ::dlopen(WEIR_BENCH_FLOW_GRAPH, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    throw unavailable{std::string{"oneTBB's side cannot be loaded: "} + ::dlerror()};
  const auto make = reinterpret_cast<make_flow_graph*>(::dlsym(library, make_flow_graph_name));
  if (make == nullptr) throw std::runtime_error{"oneTBB's side has no graphs"};
  return std::unique_ptr<flow_graph>{make(shape, nodes, function, word)};
#else
  throw unavailable{"built without oneTBB (libtbb-dev)"};
#endif
}

void count_call(void* data) {
  if (data != nullptr)
    std::atomic_ref{*static_cast<unsigned*>(data)}.store(1, std::memory_order_relaxed);
}

double measure(graph_shape shape, void (*function)(void*)) {
  unsigned theirs = 0;
  const std::unique_ptr<flow_graph> peer = make_peer(shape, function, &theirs);
  const raw_stream stream;
  const raw_memory word{4};
  const raw_graph graph{shape, nodes, word, function};
  const raw_exec exec{graph};
  const auto times = [](auto&& run) {
    return [run] {
      for (int i = 0; i < batch; ++i) run();
    };
  };
  return ratio(rounds, times([&] { exec.run(stream); }), times([&] { peer->run(); }), [] {});
}

constexpr const char* as_fast = "x as fast as oneTBB";

const registration sets{{.name = "tbb/sets",
                         .unit = as_fast,
                         .budget = 2,
                         .better = better::more,
                         .runs_on = driver_filter::embedded,
                         .measure = [] { return measure(graph_shape::line, nullptr); }}};
const registration hosts{{.name = "tbb/hosts",
                          .unit = as_fast,
                          .budget = 2,
                          .better = better::more,
                          .runs_on = driver_filter::embedded,
                          .measure = [] { return measure(graph_shape::line, count_call); }}};
const registration wide{{.name = "tbb/wide",
                         .unit = as_fast,
                         .budget = 2,
                         .better = better::more,
                         .runs_on = driver_filter::embedded,
                         .measure = [] { return measure(graph_shape::wide, nullptr); }}};

}  // namespace
}  // namespace bench
