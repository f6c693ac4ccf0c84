// SPDX-License-Identifier: Apache-2.0
// Lesson 18: a graph built node by node and drawn, and its executable changed in place without
// another capture.
//
// With a file name it writes a description of the graph to that file:
//
// example-18-graph-by-hand graph.dot && weir graph graph.dot -o graph.svg
#include <cstdio>
#include <string>
#include <utility>
#include <vector>
#include <weir/weir.hpp>

int main(int argc, char** argv) {
  const weir::device gpu;
  const weir::stream s{gpu};
  constexpr std::size_t size = 1000;
  weir::pinned_buffer<float> input{size};
  weir::pinned_buffer<float> other_input{size};
  weir::pinned_buffer<float> result{size};
  for (float& v : input) v = 1.0f;
  for (float& v : other_input) v = 2.0f;

  // Two independent branches, and a node after both. Memory that only a launch needs is a node as
  // well.
  weir::graph g;
  const weir::allocation_node x =
      g.add(weir::allocation_parameters::for_elements<float>(gpu, size));
  const weir::allocation_node y =
      g.add(weir::allocation_parameters::for_elements<float>(gpu, size));
  const weir::copy_node load = g.add(weir::copy_parameters{input, x.memory<float>()}, {x});
  const weir::fill_node clear = g.add(weir::fill_parameters{y.memory<float>(), 0.0f}, {y});
  const weir::graph_node ready = g.join({load, clear});
  const weir::copy_node store = g.add(weir::copy_parameters{x.memory<float>(), result}, {ready});
  int rounds = 0;
  const weir::host_function_node count =
      g.add(weir::host_function_parameters{[&] { ++rounds; }}, {store});
  g.add(weir::free_parameters{x}, {store});
  g.add(weir::free_parameters{y}, {store});
  g.tag(load, "load");
  std::printf("%zu nodes, %zu edges\n", g.node_count(), g.edges().size());

  // The description contains what each node does, its tag, and the line above that added it.
  if (argc > 1) g.write_dot(argv[1], weir::dot_detail::verbose);
  const bool described = g.dot().find("load") != std::string::npos;

  weir::graph_exec run = g.instantiate();
  run.launch(s);
  s.sync();
  const bool ran = result[0] == 1.0f && rounds == 1;

  // Sets one node to another input, found by its handle or by its tag. A launch in flight keeps the
  // old input.
  run.set(run.find("load").as<weir::copy_node>(),
          weir::copy_parameters{other_input, x.memory<float>()});
  run.launch(s);
  s.sync();
  const bool changed = result[0] == 2.0f && rounds == 2;

  // An input without another owner is moved into the node: it lives until no launch can use it.
  run.set(load, weir::copy_parameters{std::vector<float>(size, 3.0f), x.memory<float>()});
  run.launch(s);
  run.set(load, weir::copy_parameters{
                    input, x.memory<float>()});  // the vector is destroyed after the launch

  // A disabled node does nothing, so the result does not change.
  run.disable(store);
  run.launch(s);
  s.sync();
  const bool is_correct = result[0] == 3.0f && rounds == 4;
  run.enable(store);

  // visit() returns what a node does. A cast to another kind throws.
  for (const weir::graph_node node : g.nodes()) {
    weir::visit(
        node,
        [](weir::copy_node n) { std::printf("copies %zu bytes\n", n.parameters().width_bytes()); },
        [](weir::fill_node n) { std::printf("fills %zu elements\n", n.parameters().width()); },
        [](weir::graph_node n) { std::printf("%s\n", weir::to_string(n.kind()).c_str()); });
  }
  bool refused = false;
  try {
    static_cast<void>(weir::graph_node{count}.as<weir::fill_node>());
  } catch (const weir::error& e) {
    refused = e.result() == weir::errc::wrong_type;
    std::printf("%s\n", e.what());
  }
  return described && ran && changed && is_correct && refused ? 0 : 1;
}
