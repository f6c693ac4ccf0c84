// convolution.cu - filters for signals and images, with coefficients in constant memory.

#define TAPS 9
#define MIDDLE (TAPS / 2)
#define TILE 16

__constant__ float taps[TAPS];
__constant__ int kernel_2d[5][5];

__global__ void filter(const float* in, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float sum = 0;
#pragma unroll
  for (int k = 0; k < TAPS; ++k) {
    const int j = i + k - MIDDLE;
    if (j >= 0 && j < n) sum = fmaf(in[j], taps[k], sum);
  }
  out[i] = sum;
}

// Filters along the rows; each block handles part of one row.
__global__ void filter_rows(const float* in, float* out, int width) {
  extern __shared__ float row[];
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const float* from = in + blockIdx.y * width;
  for (int i = threadIdx.x; i < blockDim.x + 2 * MIDDLE; i += blockDim.x) {
    const int j = static_cast<int>(blockIdx.x * blockDim.x) + i - MIDDLE;
    row[i] = j >= 0 && j < width ? from[j] : 0.0f;
  }
  __syncthreads();
  if (x >= width) return;
  float sum = 0;
  for (int k = 0; k < TAPS; ++k) sum += row[threadIdx.x + k] * taps[k];
  out[blockIdx.y * width + x] = sum;
}

__global__ void filter_columns(const float* in, float* out, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  float sum = 0;
  for (int k = max(0, MIDDLE - y); k < min(TAPS, height - y + MIDDLE); ++k) {
    sum += in[(y + k - MIDDLE) * width + x] * taps[k];
  }
  out[y * width + x] = sum;
}

// Filters bytes in two dimensions at once; the image is mirrored at its border.
__device__ int mirrored(int i, int n) {
  if (i < 0) i = -i - 1;
  return i < n ? i : 2 * n - 1 - i;
}

__global__ void filter_picture(const unsigned char* in, unsigned char* out, int width, int height) {
  __shared__ unsigned char tile[TILE + 4][TILE + 4];
  const int left = blockIdx.x * TILE - 2;
  const int top = blockIdx.y * TILE - 2;
  for (int y = threadIdx.y; y < TILE + 4; y += TILE) {
    for (int x = threadIdx.x; x < TILE + 4; x += TILE) {
      const int i = min(max(mirrored(left + x, width), 0), width - 1);
      const int j = min(max(mirrored(top + y, height), 0), height - 1);
      tile[y][x] = in[j * width + i];
    }
  }
  __syncthreads();
  const int x = left + 2 + threadIdx.x;
  const int y = top + 2 + threadIdx.y;
  if (x >= width || y >= height) return;
  int sum = 0;
  for (int v = 0; v < 5; ++v) {
    for (int u = 0; u < 5; ++u) sum += kernel_2d[v][u] * tile[threadIdx.y + v][threadIdx.x + u];
  }
  out[y * width + x] = static_cast<unsigned char>(min(max(sum / 64, 0), 255));
}

// The gradient of an image, as magnitude and direction.
__global__ void sobel(const unsigned char* in, ushort2* out, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x + 1;
  const int y = blockIdx.y * blockDim.y + threadIdx.y + 1;
  if (x >= width - 1 || y >= height - 1) return;
  const unsigned char* p = in + y * width + x;
  const int gx = p[1 - width] + 2 * p[1] + p[1 + width] - p[-1 - width] - 2 * p[-1] - p[-1 + width];
  const int gy =
      p[width - 1] + 2 * p[width] + p[width + 1] - p[-width - 1] - 2 * p[-width] - p[-width + 1];
  out[y * width + x] = make_ushort2(abs(gx) + abs(gy), (gx < 0) | (gy < 0) << 1);
}
