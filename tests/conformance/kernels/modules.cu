// kernels/modules.cu - cases/kernel/modules.cpp's kModulePtx in CUDA C: for a driver that takes no
// PTX.
extern "C" {

__device__ unsigned word = 17;
__constant__ unsigned fixed = 5;
__managed__ unsigned both = 6;

__global__ void store(volatile unsigned* p, unsigned v) { *p = v; }

__global__ void empty() {}

__global__ void __launch_bounds__(256) bounded(volatile unsigned* p) {
  __shared__ volatile unsigned room[256];
  *p = room[0];
}

__global__ void __cluster_dims__(2, 1, 1) clustered() {}
}
