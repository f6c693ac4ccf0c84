// transpose.cu - permutations: transposed matrices, structs to arrays, exchanged axes.

template <typename T>
__global__ void transpose(const T* in, T* out, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < width && y < height) out[x * height + y] = in[y * width + x];
}

constexpr int tile_size = 32;

// Transposes through a padded tile, by blocks of 32 x 8 or of 32 x any divisor of 32.
__global__ void transpose_tiles(const float* in, float* out, int width, int height) {
  __shared__ float tile[tile_size][tile_size + 1];
  int x = blockIdx.x * tile_size + threadIdx.x;
  int y = blockIdx.y * tile_size + threadIdx.y;
  for (int j = 0; j < tile_size; j += blockDim.y) {
    if (x < width && y + j < height) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * width + x];
  }
  __syncthreads();
  x = blockIdx.y * tile_size + threadIdx.x;
  y = blockIdx.x * tile_size + threadIdx.y;
  for (int j = 0; j < tile_size; j += blockDim.y) {
    if (x < height && y + j < width) out[(y + j) * height + x] = tile[threadIdx.x][threadIdx.y + j];
  }
}

// Transposes a square in place; a block swaps a pair of tiles, or transposes one on the diagonal.
__global__ void transpose_square(unsigned short* square, int n) {
  __shared__ unsigned short upper[16][17];
  __shared__ unsigned short lower[16][17];
  if (blockIdx.x < blockIdx.y) return;
  const unsigned c = blockIdx.x * 16, r = blockIdx.y * 16;
  const unsigned i = threadIdx.x, j = threadIdx.y;
  if (r + j < n && c + i < n) upper[j][i] = square[(r + j) * n + c + i];
  if (c + j < n && r + i < n) lower[j][i] = square[(c + j) * n + r + i];
  __syncthreads();
  if (c + j < n && r + i < n) square[(c + j) * n + r + i] = upper[i][j];
  if (r + j < n && c + i < n) square[(r + j) * n + c + i] = lower[i][j];
}

struct particle {
  float x, y, z;
  int id;
  double mass;
};

// Converts an array of structs into arrays of numbers.
__global__ void unzip(const particle* all, int n, float3* places, int* ids, double* masses) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const particle p = all[i];
  places[i] = make_float3(p.x, p.y, p.z);
  ids[i] = p.id;
  masses[i] = p.mass;
}

// Rotates the axes of a cube: out[z][x][y] = in[x][y][z].
__global__ void turn_axes(const int* in, int* out, int3 n) {
  const int z = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  const int x = blockIdx.z * blockDim.z + threadIdx.z;
  if (x < n.x && y < n.y && z < n.z) out[(z * n.x + x) * n.y + y] = in[(x * n.y + y) * n.z + z];
}
