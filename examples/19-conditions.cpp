// SPDX-License-Identifier: Apache-2.0
// Lesson 19: parts of a graph that run depending on a condition.
#include <cstdio>
#include <span>
#include <weir/weir.hpp>

int main() {
  const weir::device gpu;
  const weir::stream s{gpu};
  if (!weir::conditional_support_of_driver().else_and_switch) {
    std::printf("this driver has no else and no switch: CUDA 12.8 has\n");
    return 0;
  }
  weir::buffer<int> x{s, 1};
  weir::pinned_buffer<int> home{1};

  // A switch with three bodies. The condition has an initial value at each launch. Kernels of the
  // graph may change it with cudaGraphSetConditional() before the node reads it.
  const auto choose = [&](unsigned which) {
    weir::graph g;
    const weir::condition c{g, which};
    const weir::fill_node before = g.add(weir::fill_parameters{x, -1});
    const weir::conditional_node node = g.add(weir::switch_parameters{c, 3}, {before});
    for (int i = 0; i < 3; ++i)
      node.body(static_cast<std::size_t>(i)).add(weir::fill_parameters{x, 10 * i});
    g.add(weir::copy_parameters{x, home}, {node});
    g.instantiate().launch(s);
    s.sync();
    std::printf("case %u: %d\n", which, home[0]);
    return home[0];
  };
  const bool chosen =
      choose(0) == 0 && choose(2) == 20 && choose(7) == -1;  // no such case, so nothing runs

  // A node that a body does not support is refused when it is added, and not at the launch.
  weir::graph g;
  const weir::conditional_node node = g.add(weir::if_parameters{weir::condition{g, 1}});
  bool refused = false;
  try {
    node.body().add(weir::host_function_parameters{[] {}});
  } catch (const weir::error& e) {
    refused = e.result() == weir::errc::not_supported;
    std::printf("%s\n", e.what());
  }
  return chosen && refused ? 0 : 1;
}
