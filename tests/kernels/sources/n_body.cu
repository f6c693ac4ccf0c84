// n_body.cu - bodies that attract each other, in tiles of shared memory.

// The force on each body: position and mass are x, y, z and w.
__global__ void attract(const float4* __restrict__ bodies, float3* pull, int n, float softening) {
  extern __shared__ float4 tile[];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float4 own = i < n ? bodies[i] : make_float4(0, 0, 0, 0);
  float3 sum = {0, 0, 0};
  for (int base = 0; base < n; base += blockDim.x) {
    const int j = base + threadIdx.x;
    tile[threadIdx.x] = j < n ? bodies[j] : make_float4(0, 0, 0, 0);
    __syncthreads();
#pragma unroll 4
    for (unsigned k = 0; k < blockDim.x; ++k) {
      const float4 other = tile[k];
      const float3 way = make_float3(other.x - own.x, other.y - own.y, other.z - own.z);
      const float square = way.x * way.x + way.y * way.y + way.z * way.z + softening;
      const float inverse = rsqrtf(square);
      const float weight = other.w * inverse * inverse * inverse;
      sum.x += way.x * weight;
      sum.y += way.y * weight;
      sum.z += way.z * weight;
    }
    __syncthreads();
  }
  if (i < n) pull[i] = sum;
}

__global__ void move(float4* bodies, float3* speeds, const float3* pull, int n, float step) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float3 v = speeds[i];
  v.x = fmaf(pull[i].x, step, v.x);
  v.y = fmaf(pull[i].y, step, v.y);
  v.z = fmaf(pull[i].z, step, v.z);
  speeds[i] = v;
  bodies[i].x = fmaf(v.x, step, bodies[i].x);
  bodies[i].y = fmaf(v.y, step, bodies[i].y);
  bodies[i].z = fmaf(v.z, step, bodies[i].z);
}

// Counts the pairs on a lattice that are closer than a distance, each pair once.
__global__ void close_pairs(const short3* points, int n, int square, unsigned* count) {
  const int i = blockIdx.y * blockDim.y + threadIdx.y;
  const int j = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n || j >= i) return;
  const int x = points[i].x - points[j].x;
  const int y = points[i].y - points[j].y;
  const int z = points[i].z - points[j].z;
  if (x * x + y * y + z * z < square) atomicAdd(count, 1);
}

// Finds the nearest center of each point.
__constant__ float2 centres[16];

__global__ void assign(const float2* points, int n, int count, int* nearest, float2* sums,
                       int* sizes) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float2 p = points[i];
  int best = 0;
  float distance = 3.4e38f;
  for (int c = 0; c < count; ++c) {
    const float x = p.x - centres[c].x;
    const float y = p.y - centres[c].y;
    const float square = x * x + y * y;
    if (square < distance) {
      distance = square;
      best = c;
    }
  }
  nearest[i] = best;
  atomicAdd(&sums[best].x, p.x);
  atomicAdd(&sums[best].y, p.y);
  atomicAdd(&sizes[best], 1);
}
