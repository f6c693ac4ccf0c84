// spinning.cu - kernels that wait for the host or another kernel to write a word of memory.

// Reports that it has started, waits until the word is written, and records its value.
__global__ void wait_for_word(volatile unsigned* begun, const volatile unsigned* word,
                              unsigned* found) {
  if (threadIdx.x == 0 && blockIdx.x == 0) *begun = 1;
  unsigned value;
  while ((value = *word) == 0) {
  }
  __threadfence_system();
  if (threadIdx.x == 0 && blockIdx.x == 0) *found = value;
}

// Like wait_for_word, with a barrier behind the loop.
__global__ void wait_for_word_together(volatile unsigned* begun, const volatile unsigned* word,
                                       unsigned* found) {
  __shared__ unsigned value;
  if (threadIdx.x == 0) {
    *begun = 1;
    while ((value = *word) == 0) __nanosleep(100);
  }
  __syncthreads();
  if (threadIdx.x == blockDim.x - 1) *found = value;
}

__global__ void write_word(volatile unsigned* word, unsigned value) {
  __threadfence_system();
  *word = value;
}
