// bit_tricks.cu - the device's instructions on bits, bytes and words.

// Each row is one function: y[row * n + i].
__global__ void of_words(const unsigned* x, unsigned* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const unsigned a = x[i], b = x[(i + 1) % n];
  auto put = [n, to = y + i](unsigned value) mutable {
    *to = value;
    to += n;
  };
  put(__popc(a));
  put(__clz(a));
  put(__ffs(a));
  put(__brev(a));
  put(__byte_perm(a, b, 0x5140));
  put(__funnelshift_l(a, b, b & 31));
  put(__funnelshift_r(a, b, b));
  put(__funnelshift_lc(a, b, 40));
  put(__umulhi(a, b));
  put(__mulhi(static_cast<int>(a), static_cast<int>(b)));
  put(__umul24(a, b));
  put(__mul24(static_cast<int>(a), static_cast<int>(b)));
  put(__usad(a, b, 7));
  put(__sad(static_cast<int>(a), static_cast<int>(b), 7));
  put(__uhadd(a, b));
  put(__urhadd(a, b));
  put(__dp4a(a, b, 5u));
  put(__dp4a(static_cast<int>(a), static_cast<int>(b), -5));
  put(min(a, b) ^ max(a, b));
  put(abs(static_cast<int>(a)));
}

__global__ void of_double_words(const unsigned long long* x, unsigned long long* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const unsigned long long a = x[i], b = x[(i + 1) % n];
  y[i] = __popcll(a);
  y[n + i] = __clzll(a);
  y[2 * n + i] = __ffsll(a);
  y[3 * n + i] = __brevll(a);
  y[4 * n + i] = __umul64hi(a, b);
  y[5 * n + i] = __mul64hi(static_cast<long long>(a), static_cast<long long>(b));
  y[6 * n + i] = umin(static_cast<unsigned>(a), static_cast<unsigned>(b)) + (max(a, b) - min(a, b));
}

// Operations on all bytes and half-words of a word at once.
__global__ void in_parts(const unsigned* x, unsigned* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const unsigned a = x[i], b = x[(i + 1) % n];
  y[i] = __vadd4(a, b);
  y[n + i] = __vsubus4(a, b);
  y[2 * n + i] = __vmaxu4(a, b);
  y[3 * n + i] = __vavgu4(a, b);
  y[4 * n + i] = __vabsdiffu4(a, b);
  y[5 * n + i] = __vcmpgtu4(a, b);
  y[6 * n + i] = __vaddss2(a, b);
  y[7 * n + i] = __vmins2(a, b);
  y[8 * n + i] = __vneg2(a);
  y[9 * n + i] = __vsadu4(a, b);
}

// The Morton code of two coordinates, and back.
__device__ unsigned spread(unsigned v) {
  v = (v | v << 8) & 0x00ff00ff;
  v = (v | v << 4) & 0x0f0f0f0f;
  v = (v | v << 2) & 0x33333333;
  return (v | v << 1) & 0x55555555;
}

__global__ void morton(const ushort2* points, unsigned* codes, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) codes[i] = spread(points[i].x) | spread(points[i].y) << 1;
}

// Transposes 32 x 32 bits in a warp: lane i gives row i and gets column i.
__global__ void turn_bits(const unsigned* rows, unsigned* columns) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned row = rows[i];
  unsigned column = 0;
  for (unsigned bit = 0; bit < 32; ++bit) {
    const unsigned ballot = __ballot_sync(0xffffffffu, row >> bit & 1);
    if (threadIdx.x % 32 == bit) column = ballot;
  }
  columns[i] = column;
}

// The next number with equal bit count, and the Gray code, as combinatorics uses them.
__global__ void next_with_as_many(const unsigned* x, unsigned* next, unsigned* gray, unsigned* back,
                                  int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const unsigned v = x[i];
  const unsigned t = v | (v - 1);
  next[i] = (t + 1) | (((~t & -~t) - 1) >> __ffs(v));
  gray[i] = v ^ v >> 1;
  unsigned b = gray[i];
  for (int shift = 16; shift > 0; shift >>= 1) b ^= b >> shift;
  back[i] = b;
}

// Counts the ways to place n queens: each thread tries one position in each of the first two rows.
__device__ int queens(unsigned all, unsigned columns, unsigned left, unsigned right) {
  if (columns == all) return 1;
  int ways = 0;
  for (unsigned free = all & ~(columns | left | right); free != 0; free &= free - 1) {
    const unsigned place = free & -free;
    ways += queens(all, columns | place, (left | place) << 1, (right | place) >> 1);
  }
  return ways;
}

__global__ void count_queens(int n, int* ways) {
  const unsigned a = threadIdx.x, b = threadIdx.y;
  if (a >= n || b >= n) return;
  const unsigned all = (1u << n) - 1, first = 1u << a, second = 1u << b;
  if (second & (first | first << 1 | first >> 1)) return;
  const int own =
      queens(all, first | second, (first << 1 | second) << 1, (first >> 1 | second) >> 1);
  atomicAdd(ways, own);
}
