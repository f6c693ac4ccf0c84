// shapes.cu - grids and blocks of every shape, threads that end early, block and thread memory.

__device__ unsigned flat(dim3 size, uint3 index) {
  return (index.z * size.y + index.y) * size.x + index.x;
}

// Each thread records its indices once.
__global__ void places(uint4* told, int* times) {
  const unsigned block = flat(gridDim, blockIdx);
  const unsigned threads = blockDim.x * blockDim.y * blockDim.z;
  const unsigned i = block * threads + flat(blockDim, threadIdx);
  assert(i < gridDim.x * gridDim.y * gridDim.z * threads);
  told[i] = make_uint4(blockIdx.x << 16 | threadIdx.x, blockIdx.y << 16 | threadIdx.y,
                       blockIdx.z << 16 | threadIdx.z, flat(blockDim, threadIdx) % warpSize);
  atomicAdd(&times[i], 1);
}

// Threads end one after the other; the remaining ones continue to use barriers.
__global__ void leave_early(int* order) {
  __shared__ int left;
  if (threadIdx.x == 0) left = blockDim.x;
  __syncthreads();
  // Warp by warp, the last one first.
  for (int round = blockDim.x / 32; round > 0; --round) {
    if (static_cast<int>(threadIdx.x) / 32 == round - 1 && round > 1) {
      if (threadIdx.x % 32 == 0) order[blockIdx.x * (blockDim.x / 32) + round - 1] = left;
      return;
    }
    __syncthreads();
    if (threadIdx.x == 0) left -= 32;
    __syncthreads();
  }
  if (threadIdx.x == 0) order[blockIdx.x * (blockDim.x / 32)] = left;
}

// Two arrays of different types in one piece of dynamic shared memory, beside a static one.
__global__ void __launch_bounds__(128, 2) carve(const double* x, double* y, int n) {
  extern __shared__ __align__(8) char pieces[];
  double* const numbers = reinterpret_cast<double*>(pieces);
  short* const ranks = reinterpret_cast<short*>(numbers + blockDim.x);
  __shared__ int count;
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (threadIdx.x == 0) count = 0;
  numbers[threadIdx.x] = i < n ? x[i] : 1e300;
  __syncthreads();
  short rank = 0;
  for (unsigned k = 0; k < blockDim.x; ++k) {
    rank += numbers[k] < numbers[threadIdx.x] ||
            (numbers[k] == numbers[threadIdx.x] && k < threadIdx.x);
  }
  ranks[rank] = threadIdx.x;
  if (i < n) atomicAdd(&count, 1);
  __syncthreads();
  if (static_cast<int>(threadIdx.x) < count) y[i] = numbers[ranks[threadIdx.x]];
}

// A stack and a table in thread-local memory.
__global__ void towers(int* moves) {
  struct task {
    signed char size, from, to;
  } stack[32];
  int pegs[3] = {};
  int top = 0;
  const int size = threadIdx.x % 8 + 1;
  pegs[0] = (1 << size) - 1;
  stack[top++] = {static_cast<signed char>(size), 0, 2};
  int count = 0;
  while (top > 0) {
    const task t = stack[--top];
    if (t.size == 1) {
      const int disc = pegs[t.from] & -pegs[t.from];
      assert(pegs[t.to] == 0 || disc < (pegs[t.to] & -pegs[t.to]));
      pegs[t.from] ^= disc;
      pegs[t.to] |= disc;
      ++count;
      continue;
    }
    const signed char other = 3 - t.from - t.to, less = t.size - 1;
    stack[top++] = {less, other, t.to};
    stack[top++] = {1, t.from, t.to};
    stack[top++] = {less, t.from, other};
  }
  moves[blockIdx.x * blockDim.x + threadIdx.x] = pegs[2] == (1 << size) - 1 ? count : -1;
}

// new allocates from the device's heap, and delete frees there.
__global__ void on_the_heap(const int* sizes, long long* sums, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int* const own = static_cast<int*>(malloc(sizes[i] * sizeof(int)));
  if (own == nullptr) __trap();
  for (int k = 0; k < sizes[i]; ++k) own[k] = i * k;
  long long* const sum = new long long(0);
  for (int k = 0; k < sizes[i]; ++k) *sum += own[k];
  sums[i] = *sum;
  delete sum;
  free(own);
}

// Clocks advance.
__global__ void clocks(int* went_on) {
  const long long cycles = clock64();
  __nanosleep(1000);
  went_on[threadIdx.x] = clock64() > cycles;
}

// Private copies, loads and stores with cache hints, and a flag that a fence orders after its data.
struct __align__(16) packet {
  int words[12];
};

__global__ void hand_over(const packet* in, packet* out, volatile int* flags, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  packet own;
  memset(&own, 0, sizeof own);
  memcpy(own.words, in[i].words, sizeof(int) * (i % 12 + 1));
  own.words[11] += __ldcg(&in[i].words[0]) + __ldcs(&in[i].words[1]);
  for (int k = 0; k < 12; ++k) __stcg(&out[i].words[k], own.words[k]);
  __threadfence_system();
  flags[i] = 1;
}
