// scan.cu - prefix sums: in a block, in a warp, in the whole grid.

// Hillis-Steele: inclusive, alternating between two rows of dynamic shared memory. One scan for
// each block.
template <typename T>
__device__ T scan_block(T value, T* rows) {
  unsigned from = 0;
  rows[threadIdx.x] = value;
  __syncthreads();
  for (unsigned reach = 1; reach < blockDim.x; reach *= 2) {
    const unsigned to = blockDim.x - from;
    T sum = rows[from + threadIdx.x];
    if (threadIdx.x >= reach) sum += rows[from + threadIdx.x - reach];
    rows[to + threadIdx.x] = sum;
    from = to;
    __syncthreads();
  }
  return rows[from + threadIdx.x];
}

__global__ void scan_each_block(const int* in, int* out, int* totals, int n) {
  extern __shared__ int rows[];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int sum = scan_block(i < n ? in[i] : 0, rows);
  if (i < n) out[i] = sum;
  if (totals != nullptr && threadIdx.x == blockDim.x - 1) totals[blockIdx.x] = sum;
}

__global__ void add_totals(int* out, const int* totals, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (blockIdx.x > 0 && i < n) out[i] += totals[blockIdx.x - 1];
}

// Blelloch: exclusive, up and down a tree, two elements for each thread; the block size is a power
// of two.
__global__ void scan_tree(const unsigned* in, unsigned* out, int n) {
  extern __shared__ unsigned tree[];
  const unsigned t = threadIdx.x;
  const unsigned size = 2 * blockDim.x;
  const unsigned base = blockIdx.x * size;
  tree[2 * t] = base + 2 * t < n ? in[base + 2 * t] : 0;
  tree[2 * t + 1] = base + 2 * t + 1 < n ? in[base + 2 * t + 1] : 0;
  unsigned step = 1;
  for (unsigned d = size >> 1; d > 0; d >>= 1) {
    __syncthreads();
    if (t < d) tree[step * (2 * t + 2) - 1] += tree[step * (2 * t + 1) - 1];
    step *= 2;
  }
  if (t == 0) tree[size - 1] = 0;
  for (unsigned d = 1; d < size; d *= 2) {
    step >>= 1;
    __syncthreads();
    if (t < d) {
      const unsigned left = tree[step * (2 * t + 1) - 1];
      tree[step * (2 * t + 1) - 1] = tree[step * (2 * t + 2) - 1];
      tree[step * (2 * t + 2) - 1] += left;
    }
  }
  __syncthreads();
  if (base + 2 * t < n) out[base + 2 * t] = tree[2 * t];
  if (base + 2 * t + 1 < n) out[base + 2 * t + 1] = tree[2 * t + 1];
}

// Each warp computes a scan, which starts again at each head.
__global__ void scan_segments(const long long* in, const unsigned char* heads, long long* out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned lane = threadIdx.x & 31;
  long long sum = in[i];
  bool head = heads[i] != 0 || lane == 0;
  for (unsigned reach = 1; reach < 32; reach <<= 1) {
    const long long before = __shfl_up_sync(0xffffffffu, sum, reach);
    const bool stops = __shfl_up_sync(0xffffffffu, head ? 1 : 0, reach) != 0;
    if (lane >= reach && !head) {
      sum += before;
      head = stops;
    }
  }
  out[i] = sum;
}

// The whole array in one launch: a block takes the next tile and waits for the total of the
// previous tile.
__device__ unsigned next_tile;

__global__ void scan_in_one_go(const int* in, int* out, volatile int* totals, volatile int* ready,
                               int n) {
  extern __shared__ int rows[];
  __shared__ unsigned tile;
  __shared__ int before;
  if (threadIdx.x == 0) tile = atomicInc(&next_tile, gridDim.x - 1);
  __syncthreads();
  const int i = tile * blockDim.x + threadIdx.x;
  const int sum = scan_block(i < n ? in[i] : 0, rows);
  if (threadIdx.x == blockDim.x - 1) {
    int carried = 0;
    if (tile > 0) {
      while (ready[tile - 1] == 0) __nanosleep(50);
      __threadfence();
      carried = totals[tile - 1];
    }
    before = carried;
    totals[tile] = carried + sum;
    __threadfence();
    ready[tile] = 1;
  }
  __syncthreads();
  if (i < n) out[i] = before + sum;
}

// Keeps the positive elements in order; each block writes one tile of the result.
__global__ void keep_positive(const int* in, int* out, int* kept, int n) {
  extern __shared__ int rows[];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int keep = i < n && in[i] > 0;
  const int place = scan_block(keep, rows);
  if (keep) out[blockIdx.x * blockDim.x + place - 1] = in[i];
  if (threadIdx.x == blockDim.x - 1) kept[blockIdx.x] = place;
}
