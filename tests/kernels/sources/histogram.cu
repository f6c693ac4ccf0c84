// histogram.cu - histograms by atomic additions.

__global__ void count_bytes(const unsigned char* in, size_t n, unsigned* bins) {
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n;
       i += static_cast<size_t>(gridDim.x) * blockDim.x) {
    atomicAdd(bins + in[i], 1u);
  }
}

// Each block has its own histogram in shared memory, added to the global one at the end.
__global__ void __launch_bounds__(256)
    count_bytes_by_blocks(const uchar4* in, size_t n, unsigned* bins) {
  __shared__ unsigned own[256];
  for (unsigned b = threadIdx.x; b < 256; b += blockDim.x) own[b] = 0;
  __syncthreads();
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n;
       i += static_cast<size_t>(gridDim.x) * blockDim.x) {
    const uchar4 four = in[i];
    atomicAdd(&own[four.x], 1);
    atomicAdd(&own[four.y], 1);
    atomicAdd(&own[four.z], 1);
    atomicAdd(&own[four.w], 1);
  }
  __syncthreads();
  for (unsigned b = threadIdx.x; b < 256; b += blockDim.x) {
    if (own[b] != 0) atomicAdd(&bins[b], own[b]);
  }
}

// Each thread has a private histogram in local memory; the block adds them up bin by bin.
__global__ void count_nibbles(const unsigned* words, int n, unsigned long long* bins) {
  unsigned own[16] = {};
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    unsigned word = words[i];
#pragma unroll
    for (int k = 0; k < 8; ++k, word >>= 4) ++own[word & 15];
  }
  __shared__ unsigned of_block[16];
  if (threadIdx.x < 16) of_block[threadIdx.x] = 0;
  __syncthreads();
  for (int b = 0; b < 16; ++b) atomicAdd_block(&of_block[b], own[b]);
  __syncthreads();
  if (threadIdx.x < 16)
    atomicAdd(&bins[threadIdx.x], static_cast<unsigned long long>(of_block[threadIdx.x]));
}

// Sums the weights of points in each field of a plane; points outside are counted separately.
__global__ void weigh(const float2* points, const float* weights, int n, float* fields, int width,
                      int height, int* outside) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const int x = __float2int_rd(points[i].x * width);
  const int y = __float2int_rd(points[i].y * height);
  if (x < 0 || y < 0 || x >= width || y >= height) {
    atomicAdd_system(outside, 1);
    return;
  }
  atomicAdd(fields + y * width + x, weights[i]);
}

// More bins than fit into shared memory: each warp counts its equal values first.
__global__ void count_words(const unsigned* in, int n, unsigned* bins) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const bool here = i < n;
  const unsigned active = __ballot_sync(0xffffffffu, here);
  if (!here) return;
  const unsigned equal = __match_any_sync(active, in[i]);
  if (__ffs(equal) - 1 == threadIdx.x % 32) atomicAdd(&bins[in[i]], __popc(equal));
}
