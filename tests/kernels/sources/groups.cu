// groups.cu - cooperative groups: of a block, of its tiles, of the whole grid.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

namespace cg = cooperative_groups;

// The indices that each thread sees.
__global__ void places(int4* told, int n) {
  const cg::thread_block block = cg::this_thread_block();
  const auto tile = cg::tiled_partition<8>(block);
  const int i = block.group_index().x * block.size() + block.thread_rank();
  if (i < n)
    told[i] = make_int4(block.thread_rank(), tile.thread_rank(), tile.meta_group_rank(),
                        tile.num_threads());
}

template <class Group>
__device__ int sum_of(const Group& group, int value) {
  for (unsigned offset = group.size() / 2; offset > 0; offset /= 2)
    value += group.shfl_down(value, offset);
  return value;
}

// A sum for each tile, for tiles of any size; the block synchronizes as a group.
template <int SIZE>
__global__ void sum_tiles(const int* x, int* sums) {
  extern __shared__ int held[];
  auto block = cg::this_thread_block();
  auto tile = cg::tiled_partition<SIZE>(block);
  held[block.thread_rank()] = x[blockIdx.x * block.size() + block.thread_rank()];
  block.sync();
  const int sum = sum_of(tile, held[block.size() - 1 - block.thread_rank()]);
  if (tile.thread_rank() == 0) {
    sums[blockIdx.x * (block.size() / SIZE) + tile.meta_group_rank()] = sum;
  }
}

// The active threads reserve positions together: one atomic addition for all of them.
__device__ int take_place(int* counter) {
  const cg::coalesced_group here = cg::coalesced_threads();
  int first = 0;
  if (here.thread_rank() == 0) first = atomicAdd(counter, static_cast<int>(here.size()));
  return here.shfl(first, 0) + here.thread_rank();
}

__global__ void keep_even(const int* x, int n, int* kept, int* count) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    if (x[i] % 2 == 0) kept[take_place(count)] = x[i];
  }
}

// Votes and shuffles of a tile.
__global__ void ask(const int* x, unsigned* answers) {
  const auto tile = cg::tiled_partition<16>(cg::this_thread_block());
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  const int v = x[i];
  unsigned result = tile.ballot(v > 0);
  result += tile.any(v > 95) ? 0x10000u : 0;
  result += tile.all(v > -95) ? 0x20000u : 0;
  tile.sync();
  result += static_cast<unsigned>(tile.shfl_xor(v, 3) & 0xff) << 20;
  answers[i] = result;
}

// Group reductions of the library, and groups of threads with equal labels.
__global__ void gather(const int* x, int4* told) {
  const auto tile = cg::tiled_partition<32>(cg::this_thread_block());
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  const int v = x[i];
  const int sum = cg::reduce(tile, v, cg::plus<int>());
  const int before = cg::exclusive_scan(tile, v, cg::plus<int>());
  const auto alike = cg::labeled_partition(tile, v & 3);
  const int greatest = cg::reduce(alike, v, cg::greater<int>());
  const auto half = cg::binary_partition(tile, v > 0);
  told[i] = make_int4(sum, before, greatest, half.num_threads() * 100 + half.thread_rank());
}

// All Jacobi iterations in one cooperative launch, with grid barriers between them.
__global__ void smooth(double* a, double* b, int n, int steps) {
  const cg::grid_group grid = cg::this_grid();
  for (int step = 0; step < steps; ++step) {
    for (unsigned long long i = grid.thread_rank(); i < n; i += grid.size()) {
      const double left = i > 0 ? a[i - 1] : 0, right = i + 1 < n ? a[i + 1] : 0;
      b[i] = 0.25 * left + 0.5 * a[i] + 0.25 * right;
    }
    grid.sync();
    double* const kept = a;
    a = b;
    b = kept;
  }
}

// A sum in two phases with a grid barrier between them, and a third phase that uses the sum
// everywhere.
__global__ void normalise(const int* x, int n, int* of_blocks, int* shares) {
  const auto grid = cg::this_grid();
  __shared__ int sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&sum, x[i]);
  __syncthreads();
  if (threadIdx.x == 0) of_blocks[blockIdx.x] = sum;
  grid.sync();
  if (grid.thread_rank() == 0) {
    int total = 0;
    for (unsigned b = 0; b < gridDim.x; ++b) total += of_blocks[b];
    of_blocks[0] = total;
  }
  grid.sync();
  const int total = of_blocks[0];
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    shares[i] = static_cast<int>(1000ll * x[i] / total);
  }
}
