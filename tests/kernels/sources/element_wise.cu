// element_wise.cu - one thread for each element, or a grid-stride loop over all of them.

extern "C" __global__ void saxpy(int n, float a, const float* __restrict__ x,
                                 float* __restrict__ y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}

// Works with any grid.
__global__ void clamp_all(long long* values, size_t n, long long low, long long high) {
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n;
       i += static_cast<size_t>(gridDim.x) * blockDim.x) {
    values[i] = max(low, min(high, values[i]));
  }
}

__device__ __forceinline__ float2 operator*(float2 a, float2 b) {
  return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

__global__ void multiply_complex(const float2* a, const float2* b, float2* product, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) product[i] = a[i] * b[i];
}

__global__ void to_grey(const uchar4* pixels, unsigned char* grey, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const uchar4 p = pixels[i];
  grey[i] = static_cast<unsigned char>((77 * p.x + 150 * p.y + 29 * p.z) * p.w / 255 >> 8);
}

__global__ void horner(const double* x, double* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double sum = 0.125;
#pragma unroll
  for (int k = 1; k <= 6; ++k) sum = fma(sum, x[i], 1.0 / k);
  y[i] = sum;
}

__global__ void gather(const int* __restrict__ from, const double* __restrict__ x, double* y,
                       int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = __ldg(&x[__ldg(from + i)]);
}

// Four elements for each thread, and the rest one by one.
__global__ void add_four_wide(const float* a, const float* b, float* c, unsigned n) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (4 * i + 3 < n) {
    const float4 u = reinterpret_cast<const float4*>(a)[i];
    const float4 v = reinterpret_cast<const float4*>(b)[i];
    reinterpret_cast<float4*>(c)[i] = make_float4(u.x + v.x, u.y + v.y, u.z + v.z, u.w + v.w);
  } else {
    for (unsigned k = 4 * i; k < n; ++k) c[k] = a[k] + b[k];
  }
}
