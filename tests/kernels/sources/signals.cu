// signals.cu - transforms and recurrences of signals; images resized and rotated.

// A number-theoretic transform in one block: n elements modulo 998244353 in shared memory, n a
// power of two.
constexpr unsigned prime = 998244353;

__device__ unsigned times(unsigned a, unsigned b) {
  return static_cast<unsigned>(static_cast<unsigned long long>(a) * b % prime);
}

__device__ unsigned power(unsigned base, unsigned exponent) {
  unsigned result = 1;
  for (; exponent != 0; exponent >>= 1, base = times(base, base)) {
    if (exponent & 1) result = times(result, base);
  }
  return result;
}

__device__ void transform(unsigned* x, unsigned n, unsigned root) {
  const int bits = 31 - __clz(n);
  for (unsigned i = threadIdx.x; i < n; i += blockDim.x) {
    const unsigned other = __brev(i) >> (32 - bits);
    if (other > i) {
      const unsigned kept = x[i];
      x[i] = x[other];
      x[other] = kept;
    }
  }
  for (unsigned half = 1; half < n; half *= 2) {
    __syncthreads();
    const unsigned step = power(root, n / (2 * half));
    for (unsigned k = threadIdx.x; k < n / 2; k += blockDim.x) {
      const unsigned offset = k % half, first = k / half * 2 * half + offset;
      const unsigned a = x[first], b = times(x[first + half], power(step, offset));
      x[first] = a + b < prime ? a + b : a + b - prime;
      x[first + half] = a >= b ? a - b : a + prime - b;
    }
  }
  __syncthreads();
}

// The product of two polynomials whose degrees add up to less than n.
__global__ void multiply_polynomials(const unsigned* a, const unsigned* b, unsigned* c,
                                     unsigned n) {
  extern __shared__ unsigned held[];
  unsigned* const x = held;
  unsigned* const y = held + n;
  for (unsigned i = threadIdx.x; i < n; i += blockDim.x) {
    x[i] = a[blockIdx.x * n + i];
    y[i] = b[blockIdx.x * n + i];
  }
  __syncthreads();
  const unsigned root = power(3, (prime - 1) / n);
  transform(x, n, root);
  transform(y, n, root);
  for (unsigned i = threadIdx.x; i < n; i += blockDim.x) x[i] = times(x[i], y[i]);
  __syncthreads();
  transform(x, n, power(root, prime - 2));
  const unsigned share = power(n, prime - 2);
  for (unsigned i = threadIdx.x; i < n; i += blockDim.x) c[blockIdx.x * n + i] = times(x[i], share);
}

// Radix-2 Fourier transform of complex numbers in place; one block for each row.
__global__ void fourier(float2* rows, int n) {
  extern __shared__ float2 x[];
  float2* const row = rows + blockIdx.x * n;
  const int bits = 31 - __clz(n);
  for (int i = threadIdx.x; i < n; i += blockDim.x) x[__brev(i) >> (32 - bits)] = row[i];
  for (int half = 1; half < n; half *= 2) {
    __syncthreads();
    for (int k = threadIdx.x; k < n / 2; k += blockDim.x) {
      const int offset = k % half, first = k / half * 2 * half + offset;
      float s, c;
      sincospif(-static_cast<float>(offset) / half, &s, &c);
      const float2 b = x[first + half];
      const float2 turned = make_float2(b.x * c - b.y * s, b.x * s + b.y * c);
      const float2 a = x[first];
      x[first] = make_float2(a.x + turned.x, a.y + turned.y);
      x[first + half] = make_float2(a.x - turned.x, a.y - turned.y);
    }
  }
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) row[i] = x[i];
}

// An echo on many channels: a recurrence along time, one thread for each channel.
__global__ void echo(const short* in, short* out, int channels, int length, int delay) {
  const int channel = blockIdx.x * blockDim.x + threadIdx.x;
  if (channel >= channels) return;
  for (int time = 0; time < length; ++time) {
    const int here = time * channels + channel;
    int v = in[here];
    if (time >= delay) v += out[here - delay * channels] * 3 / 4;
    out[here] = static_cast<short>(max(-32768, min(32767, v)));
  }
}

// Resizes an image with linear interpolation in steps of 1/256.
__global__ void resize(const uchar3* in, int width, int height, uchar3* out, int new_width,
                       int new_height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= new_width || y >= new_height) return;
  const int fx = x * (width - 1) * 256 / max(new_width - 1, 1);
  const int fy = y * (height - 1) * 256 / max(new_height - 1, 1);
  const int x0 = fx >> 8, y0 = fy >> 8;
  const int x1 = min(x0 + 1, width - 1), y1 = min(y0 + 1, height - 1);
  const int ax = fx & 255, ay = fy & 255;
  const auto mixed = [&](unsigned char uchar3::*part) {
    const int above = in[y0 * width + x0].*part * (256 - ax) + in[y0 * width + x1].*part * ax;
    const int below = in[y1 * width + x0].*part * (256 - ax) + in[y1 * width + x1].*part * ax;
    return static_cast<unsigned char>((above * (256 - ay) + below * ay + 32768) >> 16);
  };
  out[y * new_width + x] = make_uchar3(mixed(&uchar3::x), mixed(&uchar3::y), mixed(&uchar3::z));
}

// The knapsack problem: each launch of one block computes a row of the table, in place from above.
__global__ void knapsack(const int2* things, int count, int* best, int room) {
  for (int k = 0; k < count; ++k) {
    const int weight = things[k].x, value = things[k].y;
    for (int top = room; top >= weight; top -= blockDim.x) {
      const int here = top - static_cast<int>(threadIdx.x);
      int with = 0;
      if (here >= weight) with = max(best[here], best[here - weight] + value);
      __syncthreads();
      if (here >= weight) best[here] = with;
      __syncthreads();
    }
  }
}
