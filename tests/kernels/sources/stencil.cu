// stencil.cu - computes each element of the result from its neighborhood.

#define RADIUS 3

// A step of the heat equation on a plane with a constant border.
__global__ void heat(const float* __restrict__ from, float* __restrict__ to, int width, int height,
                     float rate) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  const int i = y * width + x;
  if (x == 0 || y == 0 || x == width - 1 || y == height - 1) {
    to[i] = from[i];
    return;
  }
  to[i] = from[i] +
          rate * (from[i - 1] + from[i + 1] + from[i - width] + from[i + width] - 4.0f * from[i]);
}

// Sums of seven consecutive elements; the block's part of the row and its halo are in shared
// memory.
__global__ void sum_of_seven(const int* in, int* out, int n) {
  __shared__ int part[256 + 2 * RADIUS];
  const int g = blockIdx.x * blockDim.x + threadIdx.x;
  const int l = threadIdx.x + RADIUS;
  part[l] = g < n ? in[g] : 0;
  if (threadIdx.x < RADIUS) {
    part[l - RADIUS] = g >= RADIUS && g - RADIUS < n ? in[g - RADIUS] : 0;
    const int after = g + static_cast<int>(blockDim.x);
    part[l + blockDim.x] = after < n ? in[after] : 0;
  }
  __syncthreads();
  int sum = 0;
#pragma unroll
  for (int k = -RADIUS; k <= RADIUS; ++k) sum += part[l + k];
  if (g < n) out[g] = sum;
}

// The seven-point stencil on a cube that wraps around.
__global__ void seven_points(const double* in, double* out, dim3 size) {
  const unsigned x = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned y = blockIdx.y * blockDim.y + threadIdx.y;
  const unsigned z = blockIdx.z * blockDim.z + threadIdx.z;
  if (x >= size.x || y >= size.y || z >= size.z) return;
  const auto at = [&](unsigned i, unsigned j, unsigned k) {
    return in[((k % size.z) * size.y + j % size.y) * size.x + i % size.x];
  };
  out[(z * size.y + y) * size.x + x] = at(x + 1, y, z) + at(x + size.x - 1, y, z) +
                                       at(x, y + 1, z) + at(x, y + size.y - 1, z) +
                                       at(x, y, z + 1) + at(x, y, z + size.z - 1) - 6 * at(x, y, z);
}

// A half-step in place: cells of one checkerboard color from those of the other.
__global__ void relax(int* cells, int width, int height, int colour) {
  const int y = blockIdx.y * blockDim.y + threadIdx.y + 1;
  const int x = 2 * (blockIdx.x * blockDim.x + threadIdx.x) + 1 + ((y + colour) & 1);
  if (x >= width - 1 || y >= height - 1) return;
  int* c = cells + y * width + x;
  *c = (c[-1] + c[1] + c[-width] + c[width]) >> 2;
}

// The median of nine pixels.
__device__ void order(unsigned char& a, unsigned char& b) {
  const unsigned char low = min(a, b);
  b = max(a, b);
  a = low;
}

__global__ void median(const unsigned char* in, unsigned char* out, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  unsigned char nine[9];
  for (int k = 0; k < 9; ++k) {
    const int i = min(max(x + k % 3 - 1, 0), width - 1);
    const int j = min(max(y + k / 3 - 1, 0), height - 1);
    nine[k] = in[j * width + i];
  }
  for (int end = 8; end > 3; --end) {
    for (int k = 0; k < end; ++k) order(nine[k], nine[k + 1]);
  }
  out[y * width + x] = nine[4];
}
