// Lesson 27: kernels that nvcc compiled with the program. They accept weir's streams directly, and
// weir launches them with checked arguments, also into graphs.
//
// Built if there is a CUDA toolkit; needs a GPU.
#include <cstdio>
#include <vector>
#include <weir/weir.hpp>

// [kernel]
template <class T>
__global__ void scale(T* x, T by, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) x[i] *= by;
}
// [/kernel]

int main() {
  const weir::device gpu;
  if (gpu.is_embedded()) {
    std::printf("code of nvcc runs on a GPU only; lesson 24 has kernels for both\n");
    return 77;
  }
  weir::stream s{gpu};
  const int n = 1000;
  weir::buffer<float> x{s, n};
  weir::fill(s, x, 1.0f);

  // [chevrons]
  scale<<<4, 256, 0, s>>>(x.data(), 2.0f, n);  // a plain CUDA launch
  // [/chevrons]

  // [from]
  const weir::kernel scale_floats = weir::kernel::from_function(scale<float>);
  weir::launch(s, weir::grid(n), scale_floats, weir::inout(x), 3.0f, n);
  // [/from]

  // <<<>>> would convert this to float; here the caller must pass a float.
  bool refused = false;
  try {
    weir::launch(s, weir::grid(n), scale_floats, weir::inout(x), 3.0, n);
  } catch (const weir::error& e) {
    refused = e.result() == weir::errc::invalid_value;
    std::printf("%s\n", e.hint().c_str());
  }

  // Both kinds of launch can be captured.
  const weir::graph twice = weir::capture(s, [&] {
    scale<<<4, 256, 0, s>>>(x.data(), 5.0f, n);
    weir::launch(s, weir::grid(n), scale_floats, weir::inout(x), 7.0f, n);
  });
  weir::graph_exec exec = twice.instantiate();
  exec.launch(s);

  std::vector<float> result(n);
  weir::copy(s, x, result);
  s.sync();
  bool right = refused;
  for (const float v : result) right = right && v == 2.0f * 3.0f * 5.0f * 7.0f;
  std::printf("%s\n", right ? "as it should be" : "WRONG");
  return right ? 0 : 1;
}
