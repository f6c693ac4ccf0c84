// reduction.cu - reductions: in shared memory, by shuffles, and by the last block to finish.

// A sum for each block, by halving; the block may have any number of threads.
__global__ void sum_tree(const int* in, int* sums, int n) {
  extern __shared__ int part[];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  part[threadIdx.x] = i < n ? in[i] : 0;
  __syncthreads();
  for (unsigned count = blockDim.x; count > 1;) {
    const unsigned half = (count + 1) / 2;
    if (threadIdx.x + half < count) part[threadIdx.x] += part[threadIdx.x + half];
    __syncthreads();
    count = half;
  }
  if (threadIdx.x == 0) sums[blockIdx.x] = part[0];
}

__device__ double sum_of_warp(double value) {
  for (int offset = warpSize / 2; offset > 0; offset /= 2)
    value += __shfl_down_sync(0xffffffffu, value, offset);
  return value;
}

// Sums by shuffles of whole warps; the total in one number.
__global__ void dot_by_shuffles(const double* a, const double* b, double* total, int n) {
  __shared__ double of_warps[32];
  double sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    sum += a[i] * b[i];
  const int lane = threadIdx.x % warpSize;
  const int warp = threadIdx.x / warpSize;
  sum = sum_of_warp(sum);
  if (lane == 0) of_warps[warp] = sum;
  __syncthreads();
  if (warp == 0) {
    sum = lane < (blockDim.x + warpSize - 1) / warpSize ? of_warps[lane] : 0.0;
    sum = sum_of_warp(sum);
    if (lane == 0) atomicAdd(total, sum);
  }
}

struct place {
  float value;
  int index;
};

__device__ place lesser(place a, place b) {
  return b.value < a.value || (b.value == a.value && b.index < a.index) ? b : a;
}

// The position of the minimum, the first of equal ones; one block.
__global__ void least(const float* in, place* result, int n) {
  __shared__ place part[1024];
  place best = {__int_as_float(0x7f800000), 0x7fffffff};
  for (int i = threadIdx.x; i < n; i += blockDim.x) best = lesser(best, place{in[i], i});
  part[threadIdx.x] = best;
  for (unsigned reach = 1; reach < blockDim.x; reach *= 2) {
    __syncthreads();
    if (threadIdx.x % (2 * reach) == 0 && threadIdx.x + reach < blockDim.x) {
      part[threadIdx.x] = lesser(part[threadIdx.x], part[threadIdx.x + reach]);
    }
  }
  if (threadIdx.x == 0) *result = part[0];
}

__device__ unsigned blocks_done = 0;  // reset to 0 by the end of each launch

// The last block to finish adds up the sums of the others.
__global__ void sum_by_last_block(const unsigned* in, volatile unsigned long long* parts,
                                  unsigned long long* total, int n) {
  __shared__ unsigned long long sum;
  __shared__ bool is_last;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&sum, static_cast<unsigned long long>(in[i]));
  __syncthreads();
  if (threadIdx.x == 0) {
    parts[blockIdx.x] = sum;
    __threadfence();
    is_last = atomicInc(&blocks_done, gridDim.x - 1) == gridDim.x - 1;
    sum = 0;
  }
  __syncthreads();
  if (!is_last) return;
  for (unsigned b = threadIdx.x; b < gridDim.x; b += blockDim.x) atomicAdd(&sum, parts[b]);
  __syncthreads();
  if (threadIdx.x == 0) *total = sum;
}

// Barriers that count: how many elements are below the limit, and whether all or any are.
__global__ void count_below(const short* in, short limit, int n, int* counts, int* all, int* any) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int below = i < n && in[i] < limit;
  const int count = __syncthreads_count(below);
  const int every = __syncthreads_and(i >= n || below);
  const int some = __syncthreads_or(below);
  if (threadIdx.x == blockDim.x - 1) {
    counts[blockIdx.x] = count;
    all[blockIdx.x] = every != 0;
    any[blockIdx.x] = some != 0;
  }
}

// bounds = {least, greatest}
__global__ void widen(const long long* in, int n, long long* bounds) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  atomicMin(&bounds[0], in[i]);
  atomicMax(&bounds[1], in[i]);
}
