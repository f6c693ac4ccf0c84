// SPDX-License-Identifier: Apache-2.0
// pocl_kernel.cpp - the embedded driver's speed on a kernel with barriers, compared with PoCL on an
// equal kernel.
#include "harness/figure.hpp"
#include "harness/timing.hpp"

#if __has_include(<CL/cl.h>)
#include "peers/opencl.hpp"

#include <cmath>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>
#include <weir/kernel/launch.hpp>
#include <weir/kernel/program.hpp>
#include <weir/memory/buffer.hpp>
#include <weir/memory/copy.hpp>
#include <weir/stream/stream.hpp>
#endif

namespace bench {
namespace {

#if __has_include(<CL/cl.h>)

// c = a * b, all of them n by n, n a multiple of the tile: the textbook kernel.
constexpr unsigned n = 1024;
constexpr unsigned tile = 16;

constexpr const char* cuda_source = R"(
#define TILE 16
extern "C" __global__ void product(int n, const float* a, const float* b, float* c) {
  __shared__ float as[TILE][TILE];
  __shared__ float bs[TILE][TILE];
  const int x = threadIdx.x;
  const int y = threadIdx.y;
  const int column = blockIdx.x * TILE + x;
  const int row = blockIdx.y * TILE + y;
  float sum = 0;
  for (int k = 0; k < n; k += TILE) {
    as[y][x] = a[row * n + k + x];
    bs[y][x] = b[(k + y) * n + column];
    __syncthreads();
    for (int i = 0; i < TILE; ++i) sum += as[y][i] * bs[i][x];
    __syncthreads();
  }
  c[row * n + column] = sum;
}
)";

constexpr const char* opencl_source = R"(
#define TILE 16
__kernel void product(int n, __global const float* a, __global const float* b, __global float* c) {
  __local float as[TILE][TILE];
  __local float bs[TILE][TILE];
  const int x = get_local_id(0);
  const int y = get_local_id(1);
  const int column = get_group_id(0) * TILE + x;
  const int row = get_group_id(1) * TILE + y;
  float sum = 0;
  for (int k = 0; k < n; k += TILE) {
    as[y][x] = a[row * n + k + x];
    bs[y][x] = b[(k + y) * n + column];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = 0; i < TILE; ++i) sum += as[y][i] * bs[i][x];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  c[row * n + column] = sum;
}
)";

std::vector<float> factor(unsigned seed) {
  std::vector<float> values(std::size_t{n} * n);
  for (float& value : values) {
    seed = seed * 1664525u + 1013904223u;
    value = static_cast<float>(seed >> 8) / (1u << 24);
  }
  return values;
}

class pocl_product {
 public:
  pocl_product(const std::vector<float>& a, const std::vector<float>& b) {
    cl_int code = CL_SUCCESS;
    const char* source = opencl_source;
    program_ = cl_.create_program(queue_.context(), 1, &source, nullptr, &code);
    check_opencl(code);
    const cl_device_id device = queue_.device();
    check_opencl(cl_.build_program(program_, 1, &device, "", nullptr, nullptr));
    kernel_ = cl_.create_kernel(program_, "product", &code);
    check_opencl(code);
    write(a_, a);
    write(b_, b);
    const cl_int size = n;
    check_opencl(cl_.set_argument(kernel_, 0, sizeof size, &size));
    cl_uint next = 1;
    for (const cl_mem memory : {a_.get(), b_.get(), c_.get()}) {
      check_opencl(cl_.set_argument(kernel_, next++, sizeof memory, &memory));
    }
  }
  pocl_product(const pocl_product&) = delete;
  pocl_product& operator=(const pocl_product&) = delete;
  ~pocl_product() {
    cl_.release_kernel(kernel_);
    cl_.release_program(program_);
  }

  void run() {
    const std::size_t all[] = {n, n};
    const std::size_t group[] = {tile, tile};
    check_opencl(
        cl_.enqueue_kernel(queue_.get(), kernel_, 2, nullptr, all, group, 0, nullptr, nullptr));
    queue_.sync();
  }

  [[nodiscard]] std::vector<float> result() {
    std::vector<float> c(std::size_t{n} * n);
    check_opencl(
        cl_.enqueue_read(queue_.get(), c_.get(), CL_TRUE, 0, bytes, c.data(), 0, nullptr, nullptr));
    return c;
  }

 private:
  void write(const pocl_memory& to, const std::vector<float>& from) {
    check_opencl(cl_.enqueue_write(queue_.get(), to.get(), CL_TRUE, 0, bytes, from.data(), 0,
                                   nullptr, nullptr));
  }

  static constexpr std::size_t bytes = sizeof(float) * n * n;

  pocl_queue queue_;
  const opencl& cl_ = queue_.calls();
  pocl_memory a_{queue_, bytes};
  pocl_memory b_{queue_, bytes};
  pocl_memory c_{queue_, bytes};
  cl_program program_ = nullptr;
  cl_kernel kernel_ = nullptr;
};

class weir_product {
 public:
  weir_product(const std::vector<float>& a, const std::vector<float>& b) {
    weir::copy(stream_, a, a_);
    weir::copy(stream_, b, b_);
    stream_.sync();
  }

  void run() {
    const weir::launch_config config{.grid = {n / tile, n / tile}, .block = {tile, tile}};
    weir::launch(stream_, config, kernel_, static_cast<int>(n), weir::in(a_), weir::in(b_),
                 weir::out(c_));
    stream_.sync();
  }

  [[nodiscard]] std::vector<float> result() {
    std::vector<float> c(std::size_t{n} * n);
    weir::copy(stream_, c_, c);
    stream_.sync();
    return c;
  }

 private:
  weir::device device_;
  weir::stream stream_{device_};
  weir::kernel kernel_ = weir::program{cuda_source}.compile(device_).kernel("product");
  weir::buffer<float> a_{stream_, std::size_t{n} * n};
  weir::buffer<float> b_{stream_, std::size_t{n} * n};
  weir::buffer<float> c_{stream_, std::size_t{n} * n};
};

// The two alternate, each with all processors: the other's threads sleep.
double measure_tiled_product() {
  const std::vector<float> a = factor(1);
  const std::vector<float> b = factor(2);
  pocl_product pocl{a, b};
  weir_product ours{a, b};
  const double times = ratio(
      10, [&] { ours.run(); }, [&] { pocl.run(); }, [] {});
  const std::vector<float> theirs = pocl.result();
  const std::vector<float> mine = ours.result();
  for (std::size_t i = 0; i < mine.size(); ++i) {
    if (!(std::abs(mine[i] - theirs[i]) <= 1e-4f * theirs[i]))
      throw std::runtime_error{"the products differ"};
  }
  return times;
}

#else

double measure_tiled_product() {
  throw unavailable{"built without OpenCL's headers (opencl-headers)"};
}

#endif

const registration tiled_product{{.name = "pocl/tiled_product",
                                  .unit = "x as fast as PoCL",
                                  .budget = 1,
                                  .better = better::more,
                                  .runs_on = driver_filter::embedded,
                                  .measure = measure_tiled_product}};

}  // namespace
}  // namespace bench
