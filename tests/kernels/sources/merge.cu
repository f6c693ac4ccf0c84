// merge.cu - sorted arrays: searched, merged, intersected.

__device__ int lower_bound(const int* sorted, int n, int value) {
  int begin = 0;
  while (n > 0) {
    const int half = n / 2;
    if (sorted[begin + half] < value) {
      begin += half + 1;
      n -= half + 1;
    } else {
      n = half;
    }
  }
  return begin;
}

__global__ void find(const int* sorted, int n, const int* wanted, int count, int* places) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) places[i] = lower_bound(sorted, n, wanted[i]);
}

// Merge path: each thread finds where its diagonal crosses the path and merges `each` elements from
// there.
__device__ int cut(const int* a, int na, const int* b, int nb, int diagonal) {
  int low = max(0, diagonal - nb);
  int high = min(diagonal, na);
  while (low < high) {
    const int middle = (low + high) / 2;
    if (a[middle] <= b[diagonal - 1 - middle]) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

__global__ void merge(const int* a, int na, const int* b, int nb, int* out, int each) {
  const int first = (blockIdx.x * blockDim.x + threadIdx.x) * each;
  const int last = min(first + each, na + nb);
  if (first >= last) return;
  int i = cut(a, na, b, nb, first);
  int j = first - i;
  for (int k = first; k < last; ++k) {
    const bool from_a = j >= nb || (i < na && a[i] <= b[j]);
    out[k] = from_a ? a[i++] : b[j++];
  }
}

// Counts the common values; each array has unique values.
__global__ void count_common(const int* a, int na, const int* b, int nb, unsigned* count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  bool common = false;
  if (i < na) {
    const int place = lower_bound(b, nb, a[i]);
    common = place < nb && b[place] == a[i];
  }
  const int in_block = __syncthreads_count(common);
  if (threadIdx.x == 0 && in_block > 0) atomicAdd(count, in_block);
}

// Marks the first of each run of equal elements.
__global__ void heads(const int* sorted, int n, bool* head) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) head[i] = i == 0 || sorted[i] != sorted[i - 1];
}
