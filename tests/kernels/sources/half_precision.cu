// half_precision.cu - 16-bit floating-point numbers: stored, converted and computed with.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

__global__ void to_half(const float* x, __half* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = __float2half_rn(x[i]);
}

__global__ void from_half(const __half* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = __half2float(x[i]);
}

// Sums, products, quotients and roots, each rounded once; one row for each function.
__global__ void arithmetic(const __half* a, const __half* b, __half* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const __half u = a[i], v = b[i];
  y[i] = __hadd(u, v);
  y[n + i] = __hsub(u, v);
  y[2 * n + i] = __hmul(u, v);
  y[3 * n + i] = u + v * __float2half(2.0f);  // the operators; doubling is exact, fused or not
  y[4 * n + i] = __hneg(u);
  y[5 * n + i] = __habs(v);
  y[6 * n + i] = __hlt(u, v) ? __hmax(u, v) : __hmin(u, v);
  y[7 * n + i] = hfloor(u);
}

// Two elements at a time.
__global__ void axpy_pairs(__half a, const __half2* x, __half2* y, int pairs) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < pairs) y[i] = __hfma2(__half2half2(a), x[i], y[i]);
}

// The single-precision sum of products of halves.
__global__ void dot(const __half2* a, const __half2* b, float* sum, int pairs) {
  float own = 0;
  for (int i = threadIdx.x; i < pairs; i += blockDim.x) {
    const float2 u = __half22float2(a[i]);
    const float2 v = __half22float2(b[i]);
    own += u.x * v.x + u.y * v.y;
  }
  for (int offset = 16; offset > 0; offset >>= 1) own += __shfl_down_sync(0xffffffffu, own, offset);
  if (threadIdx.x % 32 == 0) atomicAdd(sum, own);
}

__global__ void bfloat(const float* x, __nv_bfloat16* rounded, float* back, __nv_bfloat16* scaled,
                       int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  rounded[i] = __float2bfloat16(x[i]);
  back[i] = __bfloat162float(rounded[i]);
  scaled[i] = __hmul(rounded[i], __float2bfloat16(3.0f));
}

// The softmax of each row, stored in half and computed in single precision.
__global__ void softmax(const __half* in, __half* out, int columns) {
  __shared__ float shared_max, shared_sum;
  const __half* row = in + blockIdx.x * columns;
  if (threadIdx.x < 32) {
    float greatest = -65504.0f;
    for (int i = threadIdx.x; i < columns; i += 32)
      greatest = fmaxf(greatest, __half2float(row[i]));
    for (int m = 16; m > 0; m >>= 1)
      greatest = fmaxf(greatest, __shfl_xor_sync(0xffffffffu, greatest, m));
    float sum = 0;
    for (int i = threadIdx.x; i < columns; i += 32) sum += expf(__half2float(row[i]) - greatest);
    for (int m = 16; m > 0; m >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, m);
    if (threadIdx.x == 0) shared_max = greatest, shared_sum = sum;
  }
  __syncthreads();
  for (int i = threadIdx.x; i < columns; i += blockDim.x) {
    out[blockIdx.x * columns + i] =
        __float2half(expf(__half2float(row[i]) - shared_max) / shared_sum);
  }
}
