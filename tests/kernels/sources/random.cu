// random.cu - random numbers, one stream for each thread.

struct generator {
  unsigned long long state;
  unsigned long long increment;

  __device__ generator(unsigned long long seed, unsigned long long sequence)
      : state(0), increment(sequence << 1 | 1) {
    next();
    state += seed;
    next();
  }

  // PCG32
  __device__ unsigned next() {
    const unsigned long long old = state;
    state = old * 6364136223846793005ull + increment;
    const unsigned shifted = static_cast<unsigned>((old >> 18 ^ old) >> 27);
    const unsigned rotation = static_cast<unsigned>(old >> 59);
    return shifted >> rotation | shifted << (-rotation & 31);
  }

  __device__ float uniform() { return (next() >> 8) * (1.0f / (1 << 24)); }
};

__global__ void pcg(unsigned long long seed, unsigned* out, int threads, int each) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= threads) return;
  generator own(seed, i);
  for (int k = 0; k < each; ++k) out[k * threads + i] = own.next();
}

// A counter-based generator: Philox 4x32 with ten rounds.
__global__ void philox(uint2 key, uint4* out, unsigned n) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  uint4 c = make_uint4(i, 0, 0, 0);
  for (int round = 0; round < 10; ++round) {
    const unsigned high0 = __umulhi(0xd2511f53u, c.x), low0 = 0xd2511f53u * c.x;
    const unsigned high1 = __umulhi(0xcd9e8d57u, c.z), low1 = 0xcd9e8d57u * c.z;
    c = make_uint4(high1 ^ c.y ^ key.x, low1, high0 ^ c.w ^ key.y, low0);
    key.x += 0x9e3779b9u;
    key.y += 0xbb67ae85u;
  }
  out[i] = c;
}

// Counts the random points of each thread that lie in a quarter of a circle.
__global__ void throw_points(unsigned long long seed, int each, unsigned long long* inside) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  generator own(seed, i);
  unsigned hits = 0;
  for (int k = 0; k < each; ++k) {
    const float x = own.uniform();
    const float y = own.uniform();
    hits += __fadd_rn(__fmul_rn(x, x), __fmul_rn(y, y)) < 1.0f;
  }
  hits = __reduce_add_sync(0xffffffffu, hits);
  if (threadIdx.x % 32 == 0) atomicAdd(inside, static_cast<unsigned long long>(hits));
}

// xorshift with its state stored between launches.
__global__ void xorshift(unsigned* states, unsigned* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned x = states[i];
  x ^= x << 13;
  x ^= x >> 17;
  x ^= x << 5;
  out[i] = states[i] = x;
}

// The van der Corput sequence: the bits of the index in reverse, as a fraction.
__global__ void radical_inverse(float* out, unsigned n) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = __uint2float_rz(__brev(i)) * 2.3283064365386963e-10f;
}
