// SPDX-License-Identifier: Apache-2.0
// Lesson 17: recording the work of a step once and launching it repeatedly as one operation.
#include <cstdio>
#include <utility>
#include <weir/weir.hpp>

int main() {
  const weir::device gpu;
  const weir::stream s{gpu};
  const weir::stream helper{gpu};
  constexpr std::size_t size = 1000;
  weir::buffer<float> x{s, size};
  weir::buffer<float> y{s, size};
  weir::pinned_buffer<float> home{size};

  // One step: two streams work concurrently, and the first one copies the result to the host.
  const auto step = [&](float value) {
    helper.wait(s);  // in a capture: the helper joins it
    weir::fill(s, x, value);
    weir::fill(helper, y, -value);
    s.wait(helper);  // and must be joined
    weir::copy(s, y, home);
  };

  // Record: nothing runs.
  weir::graph recorded = weir::capture(s, [&] { step(1.0f); });
  std::printf("%zu nodes, %zu edges\n", recorded.node_count(), recorded.edges().size());

  // Instantiate once, launch repeatedly: one call for the whole step.
  weir::graph_exec run = recorded.instantiate();
  recorded.close();  // not needed any more
  for (int i = 0; i < 3; ++i) run.launch(s);
  s.sync();
  const bool ran = home[0] == -1.0f;

  // Other values need no new executable: the executable is updated in place.
  const weir::graph_update updated = run.update(weir::capture(s, [&] { step(2.0f); }));
  run.launch(s);
  s.sync();
  const bool changed = updated && home[0] == -2.0f;

  // Other work needs a new executable. The result says why. The graph can keep the objects that it
  // uses.
  const weir::graph other = weir::capture(s, [&](weir::capture_scope& scope) {
    weir::fill(scope, x, 3.0f);
    weir::copy(scope, x, home);
    scope.keep(std::move(x));  // freed when no launch can use it any more
  });
  const weir::graph_update answer = run.update_or_reinstantiate(other);
  std::printf("made anew, for reason %u\n", static_cast<unsigned>(answer.reason));
  run.launch(s);
  s.sync();
  const bool anew = answer.reason == weir::update_reason::topology && home[0] == 3.0f;

  // Calls that a capture does not allow are refused, and the capture stays valid.
  bool refused = false;
  const weir::graph whole = weir::capture(s, [&] {
    weir::fill(s, y, 4.0f);
    try {
      s.sync();
    } catch (const weir::error& e) {
      refused = e.result() == weir::errc::stream_capture_unsupported;
      std::printf("%s\n", e.what());
    }
  });
  return ran && changed && anew && refused && whole.node_count() == 1 ? 0 : 1;
}
