// kernel_and_cublas.cu - a weir::stream passed as cudaStream_t: to a kernel launch, the runtime API
// and cuBLAS.
//
// Exits with 77 if there is no GPU. Half of the test is that it compiles.
#include <cublas_v2.h>

#include <cstdio>
#include <type_traits>
#include <vector>
#include <weir/weir.hpp>

static_assert(std::is_convertible_v<const weir::stream&, cudaStream_t>);
static_assert(std::is_convertible_v<weir::stream_ref, cudaStream_t>);
static_assert(std::is_convertible_v<cudaStream_t, weir::stream_ref>);
static_assert(std::is_same_v<decltype(weir::stream_ref::legacy().get()), cudaStream_t>);

namespace {

constexpr int no_gpu = 77;  // CTest reports "skipped"

__global__ void add_one(float* x, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) x[i] += 1.0f;
}

// y = 2 * (x + 1) + y on one stream: a kernel adds, and cuBLAS does the rest.
std::vector<float> compute(weir::stream& s, const std::vector<float>& x,
                           const std::vector<float>& y) {
  const int n = static_cast<int>(x.size());
  weir::buffer<float> device_x{s, x.size()};
  weir::buffer<float> device_y{s, y.size()};
  weir::copy(s, x, device_x);
  weir::copy(s, y, device_y);

  add_one<<<(n + 255) / 256, 256, 0, s>>>(device_x.data(), n);

  cublasHandle_t blas;
  if (cublasCreate(&blas) != CUBLAS_STATUS_SUCCESS ||
      cublasSetStream(blas, s) != CUBLAS_STATUS_SUCCESS)
    return {};
  const float two = 2.0f;
  const cublasStatus_t status = cublasSaxpy(blas, n, &two, device_x.data(), 1, device_y.data(), 1);

  std::vector<float> result(y.size());
  weir::copy(s, device_y, result);
  s.sync();
  cublasDestroy(blas);
  return status == CUBLAS_STATUS_SUCCESS ? result : std::vector<float>{};
}

}  // namespace

int main() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) return no_gpu;

  weir::stream s{weir::device{}};
  if (cudaStreamQuery(s) != cudaSuccess) return 1;

  const std::size_t n = 1000;
  std::vector<float> x(n), y(n);
  for (std::size_t i = 0; i < n; ++i) {
    x[i] = static_cast<float>(i);
    y[i] = static_cast<float>(2 * i);
  }
  const std::vector<float> result = compute(s, x, y);
  for (std::size_t i = 0; i < n; ++i) {
    const float expected = 2.0f * (x[i] + 1.0f) + y[i];
    if (i >= result.size() || result[i] != expected) {
      std::printf("element %zu is wrong\n", i);
      return 1;
    }
  }
  return 0;
}
