// kernel_from_nvcc.cu - kernels compiled by nvcc and launched by weir, found by their source names,
// templates included. The arguments are checked.
//
// Exits with 77 if there is no GPU. Half of the test is that it compiles and finds the runtime's
// function.
#include <cstdio>
#include <utility>
#include <vector>
#include <weir/weir.hpp>

namespace {

constexpr int no_gpu = 77;  // CTest reports "skipped"

template <class T>
__global__ void scale(T* x, T by, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) x[i] *= by;
}

bool expect(bool holds, const char* what) {
  if (!holds) std::printf("not so: %s\n", what);
  return holds;
}

}  // namespace

int main() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) return no_gpu;

  const weir::device gpu;
  weir::stream s{gpu};
  const int n = 1000;
  weir::buffer<float> x{s, n};
  weir::fill(s, x, 1.0f);

  // <<<>>> accepts the stream directly, and weir accepts the kernel.
  scale<float><<<4, 256, 0, s>>>(x.data(), 2.0f, n);
  const weir::kernel by_weir = weir::kernel::from_function(scale<float>);
  weir::launch(s, weir::grid(n), by_weir, weir::inout(x), 3.0f, n);
  cudaFunction_t function = nullptr;
  if (cudaGetFuncBySymbol(&function, reinterpret_cast<const void*>(&scale<float>)) != cudaSuccess)
    return 1;
  weir::launch(s, weir::grid(n), weir::kernel::from_function(function), weir::inout(x), 5.0f, n);
  std::vector<float> result(n);
  weir::copy(s, x, result);
  s.sync();

  bool right = true;
  for (const float v : result) right = right && v == 30.0f;
  right = expect(right, "each of the three launches has scaled every element");
  right &= expect(by_weir.parameters().size() == 3, "the driver tells its parameters");
  right &= expect(by_weir.attributes().max_threads_per_block >= 256, "and its limits");

  bool refused = false;
  try {
    weir::launch(s, weir::grid(n), by_weir, weir::inout(x), 3.0, n);
  } catch (const weir::error& e) {
    refused = e.result() == weir::errc::invalid_value;
  }
  right &= expect(refused, "a double is refused for a float");

  // In a graph that outlives the kernel reference.
  weir::graph g = weir::capture(s, [&] {
    weir::launch(s, weir::grid(n), weir::kernel::from_function(scale<float>), weir::inout(x), 0.5f,
                 n);
  });
  weir::graph_exec exec = g.instantiate();
  exec.launch(s);
  weir::copy(s, x, result);
  s.sync();
  right &= expect(result[0] == 15.0f, "a captured launch runs");
  return right ? 0 : 1;
}
