// Lesson 18: a graph built node by node, drawn, and its executable changed in place instead of
// being recorded again. With the name of a file it writes the drawing there:
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

  // Two branches that do not wait for each other, and what comes after both. Memory that a launch
  // needs only for itself is a node as well.
  weir::graph g;
  const weir::allocation_node x = g.add(weir::allocation_parameters::of<float>(gpu, size));
  const weir::allocation_node y = g.add(weir::allocation_parameters::of<float>(gpu, size));
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

  // A picture of it: what each node does, its tag, and the line above that added it.
  if (argc > 1) weir::write_drawing(g, argv[1]);
  const bool drawn = weir::drawing_of(g).find("load") != std::string::npos;

  weir::graph_exec run = g.instantiate();
  run.launch(s);
  s.sync();
  const bool ran = result[0] == 1.0f && rounds == 1;

  // Another input: one node is set, by the handle or by its tag. What a launch under way reads
  // stays what it was.
  run.set(run.find("load").as<weir::copy_node>(),
          weir::copy_parameters{other_input, x.memory<float>()});
  run.launch(s);
  s.sync();
  const bool changed = result[0] == 2.0f && rounds == 2;

  // An input that nobody else keeps is handed over: it lives until no launch can use it.
  run.set(load, weir::copy_parameters{std::vector<float>(size, 3.0f), x.memory<float>()});
  run.launch(s);
  run.set(load, weir::copy_parameters{
                    input, x.memory<float>()});  // the vector goes when the launch is done

  // A node can be switched off, and does nothing then. The result stays what it was.
  run.disable(store);
  run.launch(s);
  s.sync();
  const bool is_correct = result[0] == 3.0f && rounds == 4;
  run.enable(store);

  // What a node does is asked of its view; one of another kind says so.
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
  return drawn && ran && changed && is_correct && refused ? 0 : 1;
}
