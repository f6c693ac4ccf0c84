// SPDX-License-Identifier: Apache-2.0
// Lesson 23: work that repeats until it has converged, which only the device can tell.
#include <cmath>
#include <cstdio>
#include <weir/weir.hpp>

namespace {

// The condition is true while x still changes. NVRTC needs the declaration of the function, and the
// device's driver provides the function.
constexpr char source[] = R"(
  extern "C" __device__ void cudaGraphSetConditional(cudaGraphConditionalHandle handle, unsigned value);

  extern "C" __global__ void step(cudaGraphConditionalHandle again, double* x, double a) {
    const double old = *x;
    *x = (old + a / old) / 2;
    cudaGraphSetConditional(again, fabs(*x - old) > 1e-12 * *x);
  }
)";

// One launch: the graph repeats itself.
double on_device(const weir::device& gpu, const weir::stream& s, double a) {
  const weir::kernel step = weir::program{source}.compile(gpu).kernel("step");
  weir::buffer<double> x{s, 1};
  weir::pinned_buffer<double> first{1}, last{1};
  first[0] = a;
  // [loop]
  weir::graph g;
  const weir::condition again{g, 1};  // so that the body runs at least once
  const weir::copy_node in = g.add(weir::copy_parameters{first, x});
  const weir::conditional_node loop = g.add(weir::while_parameters{again}, {in});
  loop.body().add(weir::kernel_parameters{{}, step, again.handle(), weir::inout(x), a});
  g.add(weir::copy_parameters{x, last}, {loop});
  // [/loop]
  g.instantiate().launch(s);
  s.sync();
  return last[0];
}

// Before CUDA 12.3 the device cannot repeat a graph: the host checks after each launch.
double on_host(const weir::stream& s, double a) {
  double x = a, moved = a;
  weir::graph g;
  g.add(weir::host_function_parameters{[&x, &moved, a] {
    const double old = x;
    x = (old + a / old) / 2;
    moved = std::fabs(x - old);
  }});
  const weir::graph_exec step = g.instantiate();
  while (moved > 1e-12 * x) {
    step.launch(s);
    s.sync();
  }
  return x;
}

}  // namespace

int main() {
  const weir::device gpu;
  const weir::stream s{gpu};
  const bool loops = weir::conditional_support_of_driver().if_and_while;
  const double root = loops ? on_device(gpu, s, 2) : on_host(s, 2);
  std::printf("%.12f, %s\n", root, loops ? "in one launch" : "one launch for each step");
  return std::fabs(root * root - 2) < 1e-9 ? 0 : 1;
}
