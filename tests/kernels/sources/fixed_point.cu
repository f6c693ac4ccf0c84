// fixed_point.cu - fixed-point and modular integer arithmetic.

// A number with 16 bits before the point and 16 after it, as a class.
class fixed {
 public:
  fixed() = default;
  __host__ __device__ constexpr explicit fixed(int raw) : raw_(raw) {}
  static __host__ __device__ constexpr fixed of(int whole) { return fixed(whole * 65536); }

  __device__ fixed operator+(fixed other) const {
    const long long sum = static_cast<long long>(raw_) + other.raw_;
    return fixed(static_cast<int>(max(min(sum, 0x7fffffffll), -0x80000000ll)));
  }
  __device__ fixed operator*(fixed other) const {
    const long long product = static_cast<long long>(raw_) * other.raw_ + 0x8000;
    return fixed(static_cast<int>(max(min(product >> 16, 0x7fffffffll), -0x80000000ll)));
  }
  __device__ int raw() const { return raw_; }

 private:
  int raw_;
};

__global__ void multiply_add(const fixed* a, const fixed* b, const fixed* c, fixed* result, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) result[i] = a[i] * b[i] + c[i];
}

__device__ unsigned square_root(unsigned long long v) {
  unsigned root = 0;
  for (unsigned bit = 1u << 31; bit != 0; bit >>= 1) {
    const unsigned long long guess = root | bit;
    if (guess * guess <= v) root |= bit;
  }
  return root;
}

__global__ void square_roots(const unsigned long long* x, unsigned* roots, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) roots[i] = square_root(x[i]);
}

// base^exponent modulo an odd number, by Montgomery multiplication.
struct montgomery {
  unsigned modulus, inverse;  // modulus * inverse = -1 modulo 2^32

  __device__ explicit montgomery(unsigned m) : modulus(m), inverse(m) {
    for (int k = 0; k < 4; ++k) inverse *= 2 - m * inverse;
    inverse = -inverse;
  }
  __device__ unsigned reduce(unsigned long long t) const {
    const unsigned m = static_cast<unsigned>(t) * inverse;
    const unsigned long long r = (t >> 32) + __umulhi(m, modulus) + (static_cast<unsigned>(t) != 0);
    return static_cast<unsigned>(r >= modulus ? r - modulus : r);
  }
  __device__ unsigned times(unsigned a, unsigned b) const {
    return reduce(static_cast<unsigned long long>(a) * b);
  }
};

__global__ void powers(const unsigned* bases, const unsigned* exponents, unsigned modulus,
                       unsigned* results, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const montgomery field(modulus);
  const unsigned one = static_cast<unsigned>((1ull << 32) % modulus);
  unsigned base =
      static_cast<unsigned>((static_cast<unsigned long long>(bases[i] % modulus) << 32) % modulus);
  unsigned result = one;
  for (unsigned e = exponents[i]; e != 0; e >>= 1, base = field.times(base, base)) {
    if (e & 1) result = field.times(result, base);
  }
  results[i] = field.reduce(result);
}

// Sums of 256-bit numbers with carry; one number for each thread.
template <unsigned words>
struct wide {
  unsigned digit[words];
};

__global__ void add_wide(const wide<8>* a, const wide<8>* b, wide<8>* sum, unsigned char* carried,
                         int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned carry = 0;
  wide<8> result;
#pragma unroll
  for (int k = 0; k < 8; ++k) {
    const unsigned long long digit =
        static_cast<unsigned long long>(a[i].digit[k]) + b[i].digit[k] + carry;
    result.digit[k] = static_cast<unsigned>(digit);
    carry = static_cast<unsigned>(digit >> 32);
  }
  sum[i] = result;
  carried[i] = carry;
}

// Finds primes by trial division; each thread computes one word of bits.
__global__ void primes(unsigned* bits, unsigned words) {
  const unsigned word = blockIdx.x * blockDim.x + threadIdx.x;
  if (word >= words) return;
  unsigned result = 0;
  for (unsigned bit = 0; bit < 32; ++bit) {
    const unsigned n = 32 * word + bit;
    bool prime = n >= 2;
    for (unsigned d = 2; d * d <= n && prime; ++d) prime = n % d != 0;
    result |= (prime ? 1u : 0u) << bit;
  }
  bits[word] = result;
}
