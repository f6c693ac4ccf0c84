// SPDX-License-Identifier: Apache-2.0
// Lesson 24: a kernel as CUDA C source, compiled at run time for a GPU or for the embedded device.
#include <cstdio>
#include <string>
#include <vector>
#include <weir/weir.hpp>

int main() {
  const weir::device gpu;
  const weir::stream s{gpu};
  constexpr int n = 100000;

  // [compile]
  const weir::program source{R"(
    extern "C" __global__ void saxpy(float a, const float* x, float* y, int n) {
      const int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i < n) y[i] += a * x[i];
    }
  )"};
  const weir::kernel saxpy = source.compile(gpu).kernel("saxpy");  // keeps its module alive
  // [/compile]
  std::printf("%s runs it on %s\n", gpu.is_embedded() ? "the host's compiler" : "NVRTC",
              gpu.name());

  // [launch]
  weir::buffer<float> x{s, n};
  weir::buffer<float> y{s, n};
  weir::fill(s, x, 2.0f);
  weir::fill(s, y, 1.0f);
  weir::launch(s, weir::grid(n), saxpy, 3.0f, weir::in(x), weir::inout(y), n);
  // [/launch]
  std::vector<float> result(n);
  weir::copy(s, y, result);
  s.sync();
  bool right = true;
  for (const float v : result) right = right && v == 7.0f;

  // Arguments are not converted: 3.0 has eight bytes, and a float has four. Nothing is launched,
  // and the error names the argument.
  bool refused = false;
  try {
    weir::launch(s, weir::grid(n), saxpy, 3.0, weir::in(x), weir::inout(y), n);
  } catch (const weir::error& e) {
    refused = e.result() == weir::errc::invalid_value;
    std::printf("%s\n", e.hint().c_str());
  }

  // An error in the source is reported with the source's own lines, whichever compiler finds it.
  bool log_names_error = false;
  try {
    static_cast<void>(
        weir::program{"\n__global__ void broken() { nonsense; }\n", {.name = "broken.cu"}}.compile(
            gpu));
  } catch (const weir::compile_error& e) {
    log_names_error = e.log().find("nonsense") != std::string::npos;
    std::printf("%s says:\n%s\n", e.compiler().c_str(), e.log().c_str());
  }

  std::printf("%s\n", right && refused && log_names_error ? "as it should be" : "WRONG");
  return right && refused && log_names_error ? 0 : 1;
}
