// SPDX-License-Identifier: Apache-2.0
// Lesson 21: repeated work in a few shapes, captured at the first use of a shape and replayed
// later.
#include <cstdio>
#include <memory>
#include <weir/weir.hpp>

int main() {
  const weir::device gpu;
  const weir::stream s{gpu};
  weir::pinned_buffer<float> home{1000};
  // The memory is shared by its users: this program, and the graphs that use it.
  const auto x = std::make_shared<weir::buffer<float>>(s, home.size());

  // A step of several fills, the last of which sets the value. It queues its work on the stream
  // that it receives.
  const auto step = [&](int fills, float value) {
    return [&, fills, value](weir::cache_scope& scope) {
      for (int i = 1; i < fills; ++i) weir::fill(scope, *x, 0.0f);
      weir::fill(scope, *x, value);
      weir::copy(scope, *x, home);
      scope.keep(x);
    };
  };

  // The key is the shape: it determines the body's operations.
  weir::graph_cache<int> steps;
  bool right = true;
  for (const int fills : {10, 20, 10, 10, 20}) {
    steps.run(s, fills, step(fills, 1.0f));
    s.sync();
    right = right && home[0] == 1.0f;
  }

  // The version covers all other dependencies, here the value. A new version updates the executable
  // in place.
  for (const unsigned version : {2u, 2u, 3u}) {
    const auto value = static_cast<float>(version);
    const weir::cache_use how = steps.run(s, 10, version, step(10, value));
    s.sync();
    std::printf("version %u: %s\n", version,
                how == weir::cache_use::replayed ? "replayed" : "captured again");
    right = right && home[0] == value;
  }

  // Work that cannot be captured runs eagerly, and the cache returns the reason.
  const weir::cache_use how = steps.run(s, 1, [&](weir::stream_ref in) {
    weir::fill(in, *x, 4.0f);
    weir::launch_host_once(in, [] {});
    weir::copy(in, *x, home);
  });
  s.sync();
  right = right && how == weir::cache_use::eager && home[0] == 4.0f;
  if (const auto why = steps.last_failure()) std::printf("%s\n", why->what());

  const weir::graph_cache_counts counts = steps.counts();
  std::printf("%llu captured, %llu updated, %llu replayed, %llu run as they are\n", counts.captured,
              counts.updated, counts.replayed, counts.eager);
  right = right && counts.captured == 2 && counts.updated == 2 && counts.replayed == 4 &&
          counts.eager == 1;
  return right ? 0 : 1;
}
