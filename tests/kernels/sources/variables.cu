// variables.cu - module state kept between launches: device, constant and managed variables, tables
// and counters.

__device__ int counter = 40;
__device__ unsigned long long sums[4];
__device__ float weights[3][2] = {{0.5f, 1.0f}, {1.5f, 2.0f}, {2.5f, 3.0f}};
__constant__ double scale = 2.0;
__constant__ short lookup[16] = {0, 1, 4, 9, 16, 25, 36, 49, 64, 81, 100, 121, 144, 169, 196, 225};
__managed__ int shared_with_host[8];

namespace settings {

struct range {
  int low, high;
  __device__ int held(int v) const { return v < low ? low : v > high ? high : v; }
};

__constant__ range limits = {-10, 10};
__device__ const int primes[] = {2, 3, 5, 7, 11, 13};

}  // namespace settings

// Every launch continues counting from the previous one.
__global__ void count(int* before) {
  if (threadIdx.x == 0 && blockIdx.x == 0) *before = counter;
  __syncthreads();
  if (threadIdx.x != 0) return;
  atomicAdd(&counter, 1);
}

__global__ void look_up(const int* x, double* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  y[i] = scale * lookup[x[i] & 15] + settings::limits.held(x[i]) +
         settings::primes[static_cast<unsigned>(x[i]) % 6];
}

__global__ void add_up(const unsigned* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&sums[i & 3], x[i]);
}

__global__ void take_sums(unsigned long long* to) {
  if (threadIdx.x < 4) to[threadIdx.x] = sums[threadIdx.x], sums[threadIdx.x] = 0;
}

__global__ void weigh(const float2* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i].x * weights[i % 3][0] + x[i].y * weights[i % 3][1];
}

__global__ void tell_host(int base) {
  if (threadIdx.x < 8) shared_with_host[threadIdx.x] = base + threadIdx.x;
}

// Pointers to a variable and to a function, as values.
__device__ int twice(int v) { return 2 * v; }
__device__ int negative(int v) { return -v; }

typedef int (*function)(int);
__device__ function table[] = {twice, negative};

__global__ void call(const int* x, int* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const int* const where = &counter;
  y[i] = table[i & 1](x[i]) + (where == &counter ? 1 : 0);
}
