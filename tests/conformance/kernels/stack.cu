// kernels/stack.cu - cases/kernel/kernel_stack.cpp's kDeepPtx in CUDA C: for a driver that takes no
// PTX.
namespace {

__device__ __noinline__ unsigned deep(unsigned n) {
  volatile unsigned room[64];
  room[0] = n;
  return deep(n + 1) + room[0];
}

}  // namespace

extern "C" __global__ void endless(volatile unsigned* p) { *p = deep(0); }
