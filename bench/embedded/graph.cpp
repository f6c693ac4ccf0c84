// SPDX-License-Identifier: Apache-2.0
// embedded/graph.cpp - the embedded driver's cost for each node of a graph: to run, to instantiate,
// to change, to keep.
#include "harness/figure.hpp"
#include "harness/raw_graph.hpp"
#include "harness/timing.hpp"

#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <vector>

namespace bench {
namespace {

constexpr std::size_t nodes = 1000;
constexpr std::size_t many = 1'000'000;
constexpr std::size_t removed_nodes = 100'000;
constexpr int batches = 2000;
constexpr int batches_of_many = 5;

std::atomic<std::size_t> calls{0};
void count_call(void*) {
  calls.store(calls.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

double measure_run(graph_shape shape, CUhostFn function) {
  const raw_stream stream;
  const raw_memory word{4};
  const raw_graph graph{shape, nodes, word, function};
  const raw_exec exec{graph};
  calls = 0;
  const double each = fastest(batches, nodes, [&] { exec.run(stream); });
  if (function != nullptr && calls != batches * nodes)
    throw std::runtime_error{"a node did not run once"};
  return each;
}

// Nanoseconds for each node of a graph with `nodes` nodes, by wall clock or processor time.
struct costs {
  double instantiate;
  double update;
  double run;
};

template <class Clock = clock>
costs measure_costs(std::size_t size, int times) {
  const raw_stream stream;
  const raw_memory word{4};
  const raw_graph graph{graph_shape::line, size, word};
  costs found{};
  CUgraphExec made = nullptr;
  found.instantiate = fastest<Clock>(
      times, size, [&] { ok(raw().cuGraphInstantiateWithFlags(&made, graph, 0)); },
      [&] { ok(raw().cuGraphExecDestroy(made)); });
  const raw_exec exec{graph};
  found.update = fastest<Clock>(
      times, size, [&] { exec.update(graph); }, [] {});
  found.run = fastest<Clock>(
      times, size, [&] { exec.run(stream); }, [] {});
  return found;
}

// Work that exceeds a thread's time slice is preempted by other work of the machine. So graphs with
// very many nodes, more than fit into a cache, are measured in processor time.
costs measure_many() { return measure_costs<processor_clock>(many, batches_of_many); }

// Nodes behind one common node, or before it, destroyed one by one in order of creation.
enum class removal_order { behind, before };
double measure_removal(removal_order where) {
  const auto& table = raw();
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < batches_of_many; ++i) {
    CUgraph graph = nullptr;
    CUgraphNode one = nullptr;
    ok(table.cuGraphCreate(&graph, 0));
    if (where == removal_order::behind) ok(table.cuGraphAddEmptyNode(&one, graph, nullptr, 0));
    std::vector<CUgraphNode> all(removed_nodes);
    for (CUgraphNode& node : all)
      ok(table.cuGraphAddEmptyNode(&node, graph, &one, one == nullptr ? 0 : 1));
    if (where == removal_order::before)
      ok(table.cuGraphAddEmptyNode(&one, graph, all.data(), all.size()));
    best = std::min(best, time_once<processor_clock>([&] {
                      for (const CUgraphNode node : all) ok(table.cuGraphDestroyNode(node));
                    }));
    ok(table.cuGraphDestroy(graph));
  }
  return best / removed_nodes;
}

// Nodes of a clone, each found by its original and destroyed, in order of creation.
double measure_removal_of_copies() {
  const auto& table = raw();
  double best = std::numeric_limits<double>::infinity();
  CUgraph graph = nullptr;
  ok(table.cuGraphCreate(&graph, 0));
  std::vector<CUgraphNode> originals(removed_nodes);
  for (CUgraphNode& node : originals) ok(table.cuGraphAddEmptyNode(&node, graph, nullptr, 0));
  for (int i = 0; i < batches_of_many; ++i) {
    CUgraph clone = nullptr;
    ok(table.cuGraphClone(&clone, graph));
    best = std::min(best, time_once<processor_clock>([&] {
                      for (const CUgraphNode original : originals) {
                        CUgraphNode copy = nullptr;
                        ok(table.cuGraphNodeFindInClone(&copy, original, clone));
                        ok(table.cuGraphDestroyNode(copy));
                      }
                    }));
    ok(table.cuGraphDestroy(clone));
  }
  ok(table.cuGraphDestroy(graph));
  return best / removed_nodes;
}

std::size_t allocated() {
  const auto now = ::mallinfo2();
  return now.uordblks + now.hblkhd;
}

// Bytes for each node of an executable that has been launched, in the worst case.
double measure_memory() {
  const raw_stream stream;
  const raw_memory word{4};
  double most = 0;
  for (const CUhostFn function : {CUhostFn{nullptr}, CUhostFn{count_call}}) {
    for (const graph_shape shape : {graph_shape::line, graph_shape::wide}) {
      const raw_graph graph{shape, many, word, function};
      const std::size_t before = allocated();
      const raw_exec exec{graph};
      exec.run(stream);
      most = std::max(most, static_cast<double>(allocated() - before) / many);
    }
  }
  return most;
}

// Memsets that take some microseconds each: in parallel, compared with one after the other.
double measure_spread() {
  constexpr std::size_t sets = 64;
  constexpr std::size_t bytes = 128 * 1024;
  const raw_stream stream;
  const raw_memory memory{sets * bytes};
  const auto measure = [&](graph_shape shape) {
    const raw_graph graph{shape, sets, memory, nullptr, bytes};
    const raw_exec exec{graph};
    return fastest(batches, sets, [&] { exec.run(stream); });
  };
  return measure(graph_shape::line) / measure(graph_shape::wide);
}

constexpr const char* a_node = "ns a node";

const registration sets{{.name = "embedded/graph/sets",
                         .unit = a_node,
                         .budget = 15,
                         .runs_on = driver_filter::embedded,
                         .measure = [] { return measure_run(graph_shape::line, nullptr); }}};
const registration hosts{{.name = "embedded/graph/hosts",
                          .unit = a_node,
                          .budget = 20,
                          .runs_on = driver_filter::embedded,
                          .measure = [] { return measure_run(graph_shape::line, count_call); }}};
const registration wide{{.name = "embedded/graph/wide",
                         .unit = a_node,
                         .budget = 40,
                         .runs_on = driver_filter::embedded,
                         .measure = [] { return measure_run(graph_shape::wide, nullptr); }}};
const registration wide_hosts{
    {.name = "embedded/graph/wide_hosts",
     .unit = a_node,
     .budget = 40,
     .runs_on = driver_filter::embedded,
     .measure = [] { return measure_run(graph_shape::wide, count_call); }}};
const registration spread{{.name = "embedded/graph/spread",
                           .unit = "x the speed of a line",
                           .budget = 1.5,
                           .better = better::more,
                           .runs_on = driver_filter::embedded,
                           .measure = measure_spread}};
const registration instantiate{
    {.name = "embedded/graph/instantiate",
     .unit = a_node,
     .budget = 300,
     .runs_on = driver_filter::embedded,
     .measure = [] { return measure_costs(nodes, batches).instantiate; }}};
const registration update{{.name = "embedded/graph/update",
                           .unit = a_node,
                           .budget = 100,
                           .runs_on = driver_filter::embedded,
                           .measure = [] { return measure_costs(nodes, batches).update; }}};
const registration removal{{.name = "embedded/graph/remove",
                            .unit = a_node,
                            .budget = 500,
                            .runs_on = driver_filter::embedded,
                            .measure = [] { return measure_removal(removal_order::behind); }}};
const registration removal_before{
    {.name = "embedded/graph/remove_before",
     .unit = a_node,
     .budget = 500,
     .runs_on = driver_filter::embedded,
     .measure = [] { return measure_removal(removal_order::before); }}};
const registration removal_of_copies{{.name = "embedded/graph/remove_copies",
                                      .unit = a_node,
                                      .budget = 500,
                                      .runs_on = driver_filter::embedded,
                                      .measure = measure_removal_of_copies}};
const registration sets_of_many{{.name = "embedded/graph/million/sets",
                                 .unit = a_node,
                                 .budget = 15,
                                 .runs_on = driver_filter::embedded,
                                 .measure = [] { return measure_many().run; }}};
const registration instantiate_many{{.name = "embedded/graph/million/instantiate",
                                     .unit = a_node,
                                     .budget = 300,
                                     .runs_on = driver_filter::embedded,
                                     .measure = [] { return measure_many().instantiate; }}};
const registration update_many{{.name = "embedded/graph/million/update",
                                .unit = a_node,
                                .budget = 100,
                                .runs_on = driver_filter::embedded,
                                .measure = [] { return measure_many().update; }}};
const registration memory{{.name = "embedded/graph/million/memory",
                           .unit = "bytes a node",
                           .budget = 200,
                           .runs_on = driver_filter::embedded,
                           .measure = measure_memory}};

}  // namespace
}  // namespace bench
