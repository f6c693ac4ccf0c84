// conditions.cu - kernels that set the conditions of their graphs.

// NVRTC declares the type but not the function, which a GPU's driver provides.
extern "C" __device__ void cudaGraphSetConditional(cudaGraphConditionalHandle handle,
                                                   unsigned value);

// A step of Newton's method for the square root of a; sets `again` while the value changes.
__global__ void step(cudaGraphConditionalHandle again, double* x, double a) {
  const double old = *x;
  *x = (old + a / old) / 2;
  cudaGraphSetConditional(again, fabs(*x - old) > 1e-12 * *x);
}

__global__ void set_to(cudaGraphConditionalHandle condition, const unsigned* value) {
  cudaGraphSetConditional(condition, *value);
}

// The last thread to arrive decides.
__global__ void add_and_ask(cudaGraphConditionalHandle again, unsigned* sum, unsigned* arrived,
                            unsigned limit) {
  atomicAdd(sum, 1);
  __threadfence();
  if (atomicAdd(arrived, 1) == gridDim.x * blockDim.x - 1) {
    *arrived = 0;
    cudaGraphSetConditional(again, *(volatile unsigned*)sum < limit);
  }
}

__global__ void add_to(unsigned* sum, unsigned value) { *sum += value; }

// Sets `again` until the counter reaches the limit.
__global__ void count(cudaGraphConditionalHandle again, unsigned* counter, unsigned limit) {
  cudaGraphSetConditional(again, ++*counter < limit);
}
