// sort.cu - sorting, within a block and over the whole grid.

// Bitonic sort: one block, a power of two of elements of any type in dynamic shared memory.
template <typename T>
__global__ void sort_block(T* values, unsigned n, unsigned size) {
  extern __shared__ __align__(16) unsigned char raw[];
  T* const in_block = reinterpret_cast<T*>(raw);
  T* const own = values + blockIdx.x * n;
  T greatest = own[0];
  for (unsigned i = 1; i < n; ++i) greatest = own[i] > greatest ? own[i] : greatest;
  for (unsigned i = threadIdx.x; i < size; i += blockDim.x) in_block[i] = i < n ? own[i] : greatest;
  for (unsigned length = 2; length <= size; length <<= 1) {
    for (unsigned reach = length >> 1; reach > 0; reach >>= 1) {
      __syncthreads();
      for (unsigned i = threadIdx.x; i < size; i += blockDim.x) {
        const unsigned other = i ^ reach;
        if (other <= i) continue;
        const T a = in_block[i];
        const T b = in_block[other];
        if ((a > b) == ((i & length) == 0)) {
          in_block[i] = b;
          in_block[other] = a;
        }
      }
    }
  }
  __syncthreads();
  for (unsigned i = threadIdx.x; i < n; i += blockDim.x) own[i] = in_block[i];
}

// A step of odd-even transposition sort, for all pairs at once.
__global__ void swap_pairs(int* values, int n, int first) {
  const int i = 2 * (blockIdx.x * blockDim.x + threadIdx.x) + first;
  if (i + 1 >= n) return;
  const int a = values[i];
  const int b = values[i + 1];
  if (a > b) {
    values[i] = b;
    values[i + 1] = a;
  }
}

// Rank sort: each position is the number of elements before it; keys with values, stable.
__global__ void sort_by_rank(const unsigned short* keys, const unsigned* values,
                             unsigned short* sorted, unsigned* carried, int n) {
  __shared__ unsigned short part[128];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned short key = i < n ? keys[i] : 0;
  int rank = 0;
  for (int base = 0; base < n; base += blockDim.x) {
    if (base + threadIdx.x < n) part[threadIdx.x] = keys[base + threadIdx.x];
    __syncthreads();
    const int end = min(static_cast<int>(blockDim.x), n - base);
    for (int k = 0; k < end; ++k) rank += part[k] < key || (part[k] == key && base + k < i);
    __syncthreads();
  }
  if (i >= n) return;
  sorted[rank] = key;
  carried[rank] = values[i];
}

// Radix sort in one block, one bit for each round; zeros move to the front in order, ones behind
// them.
__global__ void sort_by_bits(unsigned* keys, unsigned n) {
  extern __shared__ unsigned held[];
  __shared__ unsigned ones_of_warps[33];
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const unsigned warps = blockDim.x / 32;
  unsigned key = threadIdx.x < n ? keys[threadIdx.x] : 0xffffffffu;
  for (int bit = 0; bit < 32; ++bit) {
    const unsigned ones = __ballot_sync(0xffffffffu, key >> bit & 1);
    if (lane == 0) ones_of_warps[warp] = __popc(ones);
    __syncthreads();
    if (threadIdx.x == 0) {
      unsigned sum = 0;
      for (unsigned w = 0; w <= warps; ++w) {
        const unsigned own = w < warps ? ones_of_warps[w] : 0;
        ones_of_warps[w] = sum;
        sum += own;
      }
    }
    __syncthreads();
    const unsigned before = ones_of_warps[warp] + __popc(ones & ((1u << lane) - 1));
    const unsigned zeros = blockDim.x - ones_of_warps[warps];
    held[key >> bit & 1 ? zeros + before : threadIdx.x - before] = key;
    __syncthreads();
    key = held[threadIdx.x];
    __syncthreads();
  }
  if (threadIdx.x < n) keys[threadIdx.x] = key;
}
