// warps.cu - data exchange between the lanes of a warp.

constexpr unsigned all_lanes = 0xffffffffu;

// Each kind of shuffle, for each value size: y[row * n + i].
__global__ void shuffles(const int* x, int* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int v = x[i];  // n is a multiple of the warp size
  y[i] = __shfl_sync(all_lanes, v, 5);
  y[n + i] = __shfl_sync(all_lanes, v, i * 7);          // the lane modulo the width
  y[2 * n + i] = __shfl_up_sync(all_lanes, v, 3);       // the lowest lanes keep their own values
  y[3 * n + i] = __shfl_down_sync(all_lanes, v, 2, 8);  // within groups of eight lanes
  y[4 * n + i] = __shfl_xor_sync(all_lanes, v, 9);
  y[5 * n + i] = __shfl_xor_sync(all_lanes, v, 1, 4);
  const double wide = __shfl_down_sync(all_lanes, v * 0.5, 16);
  y[6 * n + i] = static_cast<int>(2 * wide);
  const unsigned long long two =
      __shfl_sync(all_lanes, static_cast<unsigned long long>(v) << 32 | 1, 31, 16);
  y[7 * n + i] = static_cast<int>(two >> 32) + static_cast<int>(two & 0xffffffff);
  y[8 * n + i] = __float2int_rn(__shfl_up_sync(all_lanes, static_cast<float>(v), 1, 2));
}

__global__ void votes(const int* x, unsigned* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int v = x[i];
  y[i] = __ballot_sync(all_lanes, v > 0);
  y[n + i] = __all_sync(all_lanes, v > -90);
  y[2 * n + i] = __any_sync(all_lanes, v > 97);
  y[3 * n + i] = __match_any_sync(all_lanes, v & 3);
  int same;
  y[4 * n + i] = __match_all_sync(all_lanes, v >> 30, &same);
  y[5 * n + i] = same;
  y[6 * n + i] = __reduce_add_sync(all_lanes, static_cast<unsigned>(v));
  y[7 * n + i] = static_cast<unsigned>(__reduce_min_sync(all_lanes, v));
  y[8 * n + i] = __reduce_max_sync(all_lanes, static_cast<unsigned>(v));
  y[9 * n + i] = __reduce_xor_sync(all_lanes, static_cast<unsigned>(v));
  y[10 * n + i] = __reduce_or_sync(all_lanes, static_cast<unsigned>(v) & 0xf0f) &
                  ~__reduce_and_sync(all_lanes, ~0u << 9);
}

// Only the lanes of the mask participate; each branch has its own mask.
__global__ void branches(const int* x, unsigned* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int v = x[i];
  const unsigned odd = __ballot_sync(all_lanes, v & 1);
  if (v & 1) {
    y[i] = __ballot_sync(odd, v > 0);
    y[n + i] = __popc(__activemask() & ~odd);
    __syncwarp(odd);
    y[2 * n + i] = __shfl_sync(odd, v, __ffs(odd) - 1);
  } else {
    y[i] = __ballot_sync(~odd, v < 0);
    y[n + i] = __popc(__activemask() & odd);
    y[2 * n + i] = __reduce_add_sync(~odd, static_cast<unsigned>(v));
  }
}

// Ordered compaction within a warp; each warp reserves its positions by one atomic addition.
__global__ void compact(const int* x, int n, int* kept, unsigned* count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned lane = threadIdx.x & 31;
  const bool keep = i < n && x[i] % 3 == 0;
  const unsigned keepers = __ballot_sync(all_lanes, keep);
  unsigned base = 0;
  if (lane == 0) base = atomicAdd(count, __popc(keepers));
  base = __shfl_sync(all_lanes, base, 0);
  if (keep) kept[base + __popc(keepers & ((1u << lane) - 1))] = x[i];
}

// Sorts 32 numbers in a warp without memory.
__global__ void sort_warps(int* x) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned lane = threadIdx.x % warpSize;
  int v = x[i];
  for (unsigned length = 2; length <= 32; length *= 2) {
    for (unsigned reach = length / 2; reach > 0; reach /= 2) {
      const int other = __shfl_xor_sync(all_lanes, v, reach);
      const bool ascending = (lane & length) == 0;
      const bool lower = (lane & reach) == 0;
      v = ascending == lower ? min(v, other) : max(v, other);
    }
  }
  x[i] = v;
}

// A warp's shared memory, ordered by __syncwarp alone.
__global__ void reverse_in_warps(short* x) {
  __shared__ short held[1024];
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  held[threadIdx.x] = x[i];
  __syncwarp();
  x[i] = held[threadIdx.x ^ 31];
}
