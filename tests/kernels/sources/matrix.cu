// matrix.cu - dense linear algebra: products, triangular solves, factorizations. Matrices are
// stored by rows.

__global__ void product(const double* a, const double* b, double* c, int m, int n, int k) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= m || column >= n) return;
  double sum = 0;
  for (int i = 0; i < k; ++i) sum += a[row * k + i] * b[i * n + column];
  c[row * n + column] = sum;
}

// A product by tiles in shared memory; blocks of TILE x TILE.
template <int TILE>
__global__ void product_by_tiles(const float* __restrict__ a, const float* __restrict__ b,
                                 float* __restrict__ c, int m, int n, int k) {
  __shared__ float as[TILE][TILE];
  __shared__ float bs[TILE][TILE];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const int column = blockIdx.x * TILE + tx;
  const int row = blockIdx.y * TILE + ty;
  float sum = 0;
  for (int tile = 0; tile < (k + TILE - 1) / TILE; ++tile) {
    const int ka = tile * TILE + tx, kb = tile * TILE + ty;
    as[ty][tx] = row < m && ka < k ? a[row * k + ka] : 0.0f;
    bs[ty][tx] = kb < k && column < n ? b[kb * n + column] : 0.0f;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < TILE; ++i) sum += as[ty][i] * bs[i][tx];
    __syncthreads();
  }
  if (row < m && column < n) c[row * n + column] = sum;
}

// Each warp computes a row.
__global__ void times_vector(const float* a, const float* x, float* y, int rows, int columns) {
  const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  const int lane = threadIdx.x % 32;
  if (row >= rows) return;  // uniform in the warp
  float sum = 0;
  for (int i = lane; i < columns; i += 32) sum += a[row * columns + i] * x[i];
#pragma unroll
  for (int mask = 16; mask > 0; mask >>= 1) sum += __shfl_xor_sync(0xffffffff, sum, mask);
  if (lane == 0) y[row] = sum;
}

// Cholesky factorization in place by one block: a becomes the lower factor. A barrier separates the
// steps.
__global__ void cholesky(double* a, int n) {
  for (int j = 0; j < n; ++j) {
    if (threadIdx.x == 0) a[j * n + j] = sqrt(a[j * n + j]);
    __syncthreads();
    for (int i = j + 1 + threadIdx.x; i < n; i += blockDim.x) a[i * n + j] /= a[j * n + j];
    __syncthreads();
    for (int i = j + 1 + threadIdx.x; i < n; i += blockDim.x) {
      for (int k = j + 1; k <= i; ++k) a[i * n + k] -= a[i * n + j] * a[k * n + j];
    }
    __syncthreads();
  }
}

// Solves l * x = b for a lower triangle with ones on its diagonal, one block of n threads, over
// unsigned (modulo 2^32).
__global__ void solve_lower(const unsigned* l, const unsigned* b, unsigned* x, int n) {
  extern __shared__ unsigned solved[];
  const int row = threadIdx.x;
  unsigned rest = b[row];
  for (int column = 0; column < n; ++column) {
    if (row == column) solved[column] = rest;
    __syncthreads();
    if (row > column) rest -= l[row * n + column] * solved[column];
  }
  x[row] = solved[row];
}

// The determinant modulo a prime by elimination; one block, one launch for each matrix of the
// batch.
__device__ unsigned power(unsigned long long base, unsigned exponent, unsigned prime) {
  unsigned long long result = 1;
  for (; exponent != 0; exponent >>= 1) {
    if (exponent & 1) result = result * base % prime;
    base = base * base % prime;
  }
  return static_cast<unsigned>(result);
}

__global__ void determinants(const unsigned* matrices, unsigned* results, int n, unsigned prime) {
  extern __shared__ unsigned m[];
  __shared__ int pivot;
  __shared__ unsigned long long result;
  const unsigned* from = matrices + blockIdx.x * n * n;
  for (int i = threadIdx.x; i < n * n; i += blockDim.x) m[i] = from[i] % prime;
  if (threadIdx.x == 0) result = 1;
  __syncthreads();
  for (int c = 0; c < n; ++c) {
    if (threadIdx.x == 0) {
      pivot = c;
      while (pivot < n && m[pivot * n + c] == 0) ++pivot;
      if (pivot == n) {
        result = 0;
      } else {
        result = result * m[pivot * n + c] % prime;
        if (pivot != c) result = (prime - result) % prime;
      }
    }
    __syncthreads();
    if (pivot == n) break;  // uniform in the block
    if (pivot != c) {
      for (int i = threadIdx.x; i < n; i += blockDim.x) {
        const unsigned kept = m[c * n + i];
        m[c * n + i] = m[pivot * n + i];
        m[pivot * n + i] = kept;
      }
    }
    __syncthreads();
    const unsigned long long inverse = power(m[c * n + c], prime - 2, prime);
    for (int r = c + 1 + threadIdx.x; r < n; r += blockDim.x) {
      const unsigned long long factor = m[r * n + c] * inverse % prime;
      for (int i = c; i < n; ++i) {
        m[r * n + i] =
            static_cast<unsigned>((m[r * n + i] + (prime - factor) * m[c * n + i]) % prime);
      }
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) results[blockIdx.x] = static_cast<unsigned>(result);
}
