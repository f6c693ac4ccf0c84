// SPDX-License-Identifier: Apache-2.0
// Lesson 26: instances of a kernel template, found by their source names, and variables of a
// module.
#include <cstdio>
#include <vector>
#include <weir/weir.hpp>

namespace {

// Copies values to the device, through the kernel, and back.
template <class T>
std::vector<T> through(weir::stream_ref s, const weir::kernel& k, const std::vector<T>& values) {
  weir::buffer<T> x{s, values.size()};
  weir::copy(s, values, x);
  weir::launch(s, weir::grid(x.size()), k, weir::inout(x), static_cast<int>(x.size()));
  std::vector<T> result(values.size());
  weir::copy(s, x, result);
  s.sync();
  return result;
}

}  // namespace

int main() {
  const weir::device gpu;
  const weir::stream s{gpu};

  // Only the named instances are compiled.
  // [names]
  const weir::program source{
      R"(
    __constant__ int weights[4] = {1, 1, 1, 1};

    namespace math {
    template <class T> __global__ void weigh(T* x, int n) {
      const int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i < n) x[i] *= weights[i % 4];
    }
    }
  )",
      {.name = "weigh.cu", .name_expressions = {"math::weigh<float>", "math::weigh<int>"}}};
  const weir::module code = source.compile(gpu);
  const weir::kernel weigh_floats = code.kernel("math::weigh<float>");
  const weir::kernel weigh_ints = code.kernel("math::weigh<int>");
  // [/names]
  for (const std::string& name : code.kernel_names())
    std::printf("the linker knows %s\n", name.c_str());

  const bool ones = through<int>(s, weigh_ints, {5, 6, 7, 8}) == std::vector<int>{5, 6, 7, 8};

  // A variable is used like other memory. Its size is known, so a copy that is too long is refused.
  // [variable]
  const std::vector<int> weights{10, 20, 30, 40};
  weir::copy(s, weights, code.global<int[4]>("weights"));
  // [/variable]
  const bool weighed =
      through<float>(s, weigh_floats, {1, 1, 1, 1}) == std::vector<float>{10, 20, 30, 40};

  std::printf("%s\n", ones && weighed ? "as it should be" : "WRONG");
  return ones && weighed ? 0 : 1;
}
