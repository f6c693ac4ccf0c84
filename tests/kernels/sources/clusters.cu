// clusters.cu - blocks of a cluster that access each other's shared memory. Compute capability 9.0
// and later.
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

constexpr int bins_of_block = 16;

// A histogram for each cluster: each block holds part of the bins, and all blocks add to all
// parts.
__global__ void count_in_clusters(const unsigned char* x, int of_cluster, unsigned* counts) {
  __shared__ unsigned share[bins_of_block];
  const cg::cluster_group cluster = cg::this_cluster();
  const unsigned bins = bins_of_block * cluster.num_blocks();
  if (threadIdx.x < bins_of_block) share[threadIdx.x] = 0;
  cluster.sync();
  const unsigned char* own = x + blockIdx.x / cluster.num_blocks() * of_cluster;
  for (int i = cluster.thread_rank(); i < of_cluster; i += cluster.num_threads()) {
    const unsigned bin = own[i] % bins;
    atomicAdd(cluster.map_shared_rank(&share[bin % bins_of_block], bin / bins_of_block), 1);
  }
  cluster.sync();
  if (threadIdx.x < bins_of_block)
    counts[blockIdx.x * bins_of_block + threadIdx.x] = share[threadIdx.x];
}

// The cluster size is compiled into the kernel: each block passes its number to the next one around
// a ring.
__global__ void __cluster_dims__(4, 1, 1) pass_on(const int* x, int* y, int rounds) {
  extern __shared__ int held[];
  const auto cluster = cg::this_cluster();
  const unsigned next = (cluster.block_rank() + 1) % cluster.num_blocks();
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  int v = x[i];
  cluster.sync();  // all blocks have started, so their shared memory exists
  for (int round = 0; round < rounds; ++round) {
    cluster.map_shared_rank(held, next)[threadIdx.x] = v;
    cluster.sync();
    v = held[threadIdx.x] + 1;
    cluster.sync();
  }
  y[i] = v;
}
