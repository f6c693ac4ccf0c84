// SPDX-License-Identifier: Apache-2.0
// Lesson 20: work divided over several streams and joined again, directly and in a graph, and
// graphs that are extended.
#include <cstdio>
#include <optional>
#include <utility>
#include <weir/weir.hpp>

namespace {

constexpr std::size_t size = 1000;

// A library function that works whether its stream captures or not.
void add_margin(weir::stream_ref s, weir::buffer<float> scratch,
                weir::pinned_buffer<float>& margin) {
  std::optional<weir::capture_participant> outer;
  if (weir::capture_status_of(s) != weir::capture_status::none) outer.emplace(s);
  weir::fill(s, scratch, 0.5f);
  weir::copy(s, scratch, margin);
  if (outer) outer->keep(std::move(scratch));  // kept as long as the caller's graph can run
}

}  // namespace

int main() {
  const weir::device gpu;
  const weir::stream s{gpu};
  const weir::stream_pool pool{gpu, {.limit = 4}};
  weir::buffer<float> part[3] = {{s, size}, {s, size}, {s, size}};
  weir::pinned_buffer<float> home[3] = {weir::pinned_buffer<float>{size},
                                        weir::pinned_buffer<float>{size},
                                        weir::pinned_buffer<float>{size}};

  // Three streams, with s as the first: each continues after the earlier work of s, and s continues
  // after all of them.
  const auto step = [&](float value) {
    weir::stream_fork f{s, 3, pool};
    for (std::size_t i = 0; i < f.size(); ++i) {
      weir::fill(f[i], part[i], value + static_cast<float>(i));
      weir::copy(f[i], part[i], home[i]);
    }
    f.join();  // the destructor also joins, even after an exception
  };

  step(1.0f);
  s.sync();
  const bool at_once = home[0][0] == 1.0f && home[2][0] == 3.0f;

  // In a capture the streams join the capture and are joined again, so the graph has the
  // corresponding branches.
  const weir::graph_exec run = weir::capture_exec(s, [&] { step(5.0f); });
  run.launch(s);
  s.sync();
  const bool replayed = home[0][0] == 5.0f && home[2][0] == 7.0f;

  // A capture adds its work to an existing graph, behind the given nodes.
  weir::graph g;
  const auto first = g.add(weir::fill_parameters{part[0], 9.0f});
  weir::capture_to(
      s, g, [&] { weir::copy(s, part[0], home[0]); }, first);
  weir::pinned_buffer<float> margin{size};
  weir::buffer<float> spare{s, size};
  weir::capture_to(s, g, [&] { add_margin(s, std::move(spare), margin); });
  std::printf("%zu nodes, %zu roots\n", g.node_count(), g.roots().size());
  g.instantiate().launch(s);
  s.sync();
  const bool grown = home[0][0] == 9.0f && margin[0] == 0.5f;

  // Nodes added by hand take their place in the stream's order.
  const weir::graph mixed = weir::capture(s, [&](weir::capture_scope& scope) {
    weir::fill(scope, part[1], 1.0f);
    const auto by_hand =
        scope.graph().add(weir::fill_parameters{part[1], 2.0f}, scope.graph().nodes());
    weir::update_capture_dependencies(scope, by_hand, weir::dependency_update::set);
    weir::copy(scope, part[1], home[1]);
  });
  mixed.instantiate().launch(s);
  s.sync();
  return at_once && replayed && grown && home[1][0] == 2.0f ? 0 : 1;
}
