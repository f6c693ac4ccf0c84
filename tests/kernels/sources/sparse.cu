// sparse.cu - sparse matrices times a vector, in four formats.

struct csr {
  int rows;
  const int* starts;  // rows + 1
  const int* columns;
  const float* values;
};

// Each thread computes a row.
__global__ void by_threads(csr m, const float* __restrict__ x, float* y) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= m.rows) return;
  float sum = 0;
  for (int k = m.starts[row]; k < m.starts[row + 1]; ++k) sum += m.values[k] * x[m.columns[k]];
  y[row] = sum;
}

// Each group of eight lanes computes a row.
__global__ void by_lanes(const csr m, const float* __restrict__ x, float* y) {
  const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 8;
  const int lane = threadIdx.x & 7;
  float sum = 0;
  if (row < m.rows) {
    for (int k = m.starts[row] + lane; k < m.starts[row + 1]; k += 8)
      sum += m.values[k] * x[m.columns[k]];
  }
  sum += __shfl_down_sync(~0u, sum, 4, 8);
  sum += __shfl_down_sync(~0u, sum, 2, 8);
  sum += __shfl_down_sync(~0u, sum, 1, 8);
  if (lane == 0 && row < m.rows) y[row] = sum;
}

// Triples in any order, with atomic additions.
__global__ void by_triples(int count, const int* rows, const int* columns, const double* values,
                           const double* x, double* y) {
  const int k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k < count) atomicAdd(y + rows[k], values[k] * x[columns[k]]);
}

// Rows of equal length, stored by columns; -1 means no element.
__global__ void by_columns(int rows, int width, const int* columns, const float* values,
                           const float* x, float* y) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0;
  for (int k = 0; k < width; ++k) {
    const int column = columns[k * rows + row];
    if (column < 0) break;
    sum += values[k * rows + row] * x[column];
  }
  y[row] = sum;
}

// The number of elements of each row, and each row's start, by one block that scans incrementally.
__global__ void starts_of(const int* rows, int count, int row_count, int* starts) {
  extern __shared__ int sizes[];
  for (int r = threadIdx.x; r < row_count; r += blockDim.x) sizes[r] = 0;
  __syncthreads();
  for (int k = threadIdx.x; k < count; k += blockDim.x) atomicAdd(&sizes[rows[k]], 1);
  __syncthreads();
  if (threadIdx.x != 0) return;
  int sum = 0;
  for (int r = 0; r < row_count; ++r) {
    starts[r] = sum;
    sum += sizes[r];
  }
  starts[row_count] = sum;
}
