// interrupted.cu - threads and blocks that wait for each other through memory, and kernels that
// never end by themselves.

// A barrier that the compiler cannot inline.
__device__ __noinline__ void meet() { __syncthreads(); }

// The last thread goes first, and each releases the previous one.
__global__ void pass_on(unsigned* order, float* sums) {
  __shared__ volatile unsigned passed;
  __shared__ volatile unsigned next;
  if (threadIdx.x == 0) passed = next = 0;
  meet();
  float sum = threadIdx.x;
  const unsigned mine = blockDim.x - 1 - threadIdx.x;
  while (passed != mine) sum = sum * 0.5f + threadIdx.x * 0.5f;
  const unsigned turn = next;
  next = turn + 1;
  order[blockIdx.x * blockDim.x + turn] = threadIdx.x;
  sums[blockIdx.x * blockDim.x + threadIdx.x] = sum;
  __threadfence_block();
  passed = mine + 1;
  meet();
}

// Without a barrier.
__global__ void hand_over(unsigned* words) {
  volatile unsigned* flag = words;
  if (threadIdx.x == 0) {
    while (*flag == 0) {
    }
    words[1] = words[2] + 1;
  } else if (threadIdx.x == 40) {
    words[2] = 7;
    __threadfence();
    *flag = 1;
  }
}

__global__ void wait_for_ever(volatile unsigned* word) {
  word[1] = 1;
  while (*word == 0) {
  }
}

__global__ void wait_for_ever_together(volatile unsigned* word) {
  word[1] = 1;
  meet();
  while (*word == 0) {
  }
  meet();
}

__global__ void fail() { __trap(); }

// A block fails while the others wait.
__global__ void fail_beside(volatile unsigned* word) {
  if (blockIdx.x == 1) __trap();
  while (*word == 0) {
  }
}
