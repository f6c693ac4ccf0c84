// kernels/kernels.cu - cases/kernel/kernels.cpp's kPtx in CUDA C: for a driver that takes no PTX.
extern "C" {

__device__ unsigned word = 17;

__global__ void store(volatile unsigned* p, unsigned v) {
  *p = v;
  __threadfence_system();
}

__global__ void addone(volatile unsigned* p) {
  *p = *p + 1;
  __threadfence_system();
}

// Until the word is not 0, or for so many cycles.
__global__ void spin(const volatile unsigned* p, unsigned long long cycles) {
  const unsigned long long begin = clock64();
  while (*p == 0 && clock64() - begin < cycles) {
  }
}

__global__ void fault() { *reinterpret_cast<volatile unsigned*>(4096ull) = 1; }

__global__ void misaligned(unsigned long long p) {
  *reinterpret_cast<volatile unsigned*>(p + 1) = 1;
}

__global__ void trapped() { __trap(); }

__global__ void empty() {}
}
