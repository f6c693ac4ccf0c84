// SPDX-License-Identifier: Apache-2.0
// destruction_order.cpp - prints the order in which the work of two streams ran while the program
// destroyed owners of memory, modules and graphs; same_order.sh compares runs. weir's reclaimer
// thread frees what such an owner held.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>

#include <weir/weir.hpp>

#include "embedded/engine/deterministic_scheduler.hpp"
#include "embedded/engine/scheduler.hpp"

namespace {

using weir::fill;
using weir::stream_ref;

// Uses an object of weir in the stream, and destroys it.
using use_and_destroy = void (*)(stream_ref);

void managed_memory(stream_ref s) {
  weir::managed_buffer<int> x{100};
  fill(s, x, 1);
}
void shared_memory(stream_ref s) {
  weir::ipc_buffer<int> x{100};
  fill(s, x, 1);
}
void pinned_memory(stream_ref s) {
  weir::pinned_buffer<int> x{100};
  fill(s, x, 1);
}
void memory_of_a_host_function(stream_ref s) {
  auto x = std::make_unique<weir::buffer<int>>(s, 100);
  fill(s, *x, 1);
  weir::launch_host_once(s, [x = std::move(x)]() mutable { x.reset(); });
}
void graph(stream_ref s) {
  weir::buffer<int> x{s, 100};
  const weir::graph recorded = weir::capture(s, [&] { fill(s, x, 2); });
  weir::graph_exec exec = recorded.instantiate();
  exec.launch(s);
}
void destroyed_stream(stream_ref s) {
  weir::stream t{weir::device{}};
  weir::buffer<int> x{t, 100};
  fill(t, x, 1);
  s.wait(t);
}
void kernel(stream_ref s) {
  static const weir::program source{"extern \"C\" __global__ void f() {}"};
  const weir::module code = source.compile(weir::device{});
  weir::launch(s, {}, code.kernel("f"));
}

constexpr use_and_destroy uses[] = {
    managed_memory,           shared_memory, pinned_memory, graph, kernel, destroyed_stream,
    memory_of_a_host_function};

weir::task<std::size_t> first_of(weir::completion a, weir::completion b) {
  const std::size_t first = co_await weir::when_any(a, b);
  co_return first;
}

void print_order() {
  const auto* const steps = weir::embedded::engine::scheduler::instance().deterministic();
  std::printf("%llx ", static_cast<unsigned long long>(steps->order()));
}

}  // namespace

int main() {
  const weir::device gpu;
  const weir::stream s{gpu};
  const weir::stream t{gpu};
  weir::buffer<int> x{s, 256};
  weir::buffer<int> y{t, 256};
  for (const use_and_destroy use : uses) {
    for (int round = 0; round < 12; ++round) {
      use(s);
      fill(s, x, 1);
      fill(t, y, 1);
      const std::size_t first = weir::sync_wait(first_of(s.completion(), t.completion()));
      std::printf("%c", first == 0 ? 's' : 't');
      if (round % 3 == 0) t.sync();
    }
    std::printf(" ");
    print_order();
  }
  weir::drain_deferred();
  print_order();
  std::printf("\n");
  return EXIT_SUCCESS;
}
