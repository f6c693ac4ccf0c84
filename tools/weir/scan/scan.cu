// tools/weir/scan/scan.cu - analyses a chunk of a file: the remainder for its CRC-32, and the count
// of each byte value.
//
// CRC-32 treats bytes as a polynomial whose coefficients are bits, and computes the remainder of
// its division by a fixed polynomial. In a word of the remainder the lowest bit is the highest
// power. Two rules allow many threads to share the work: the remainders of parts are added with ^,
// and appending n bits multiplies a remainder by x^n. Leading zeros do not change the remainder.
//
// A chunk consists of units of 16 bytes. Each block processes a tile of them. Tiles are counted
// from the end of the chunk.

constexpr unsigned polynomial = 0xedb88320;
constexpr unsigned one = 0x80000000;
constexpr unsigned threads = 32;  // in a block

__device__ unsigned squares[32];  // x^1, x^2, x^4, x^8, ...
// over_a_row[i][b]: the remainder whose byte number i is b and whose other bytes are 0, multiplied
// by x^n. n is the number of bits in a row, which is one unit for each thread of a block.
__device__ unsigned over_a_row[4][256];
// in_a_row[i]: x^n, where n is the number of bits from the beginning of a word to the end of its
// row. Words are counted from the end of the row.
__device__ unsigned in_a_row[4 * threads];

// Returns the product of two remainders.
__device__ unsigned product(unsigned a, unsigned b) {
  unsigned sum = 0;
  for (int i = 0; i < 32; ++i) {
    sum ^= b & -(a >> 31);
    a <<= 1;
    b = b >> 1 ^ (polynomial & -(b & 1));
  }
  return sum;
}

// Returns x^n.
__device__ unsigned power(unsigned long long n) {
  unsigned result = one;
  for (unsigned i = 0; n != 0; n >>= 1, ++i) {
    if (n & 1) result = product(result, squares[i % 32]);
  }
  return result;
}

// Fills the tables. Run it once, with one block of 256 threads.
__global__ void prepare() {
  const unsigned t = threadIdx.x;
  if (t < 32) {
    unsigned square = one >> 1;
    for (unsigned i = 0; i < t; ++i) square = product(square, square);
    squares[t] = square;
  }
  __syncthreads();
  for (unsigned i = 0; i < 4; ++i) over_a_row[i][t] = product(t << 8 * i, power(128 * threads));
  if (t < 4 * threads) in_a_row[t] = power(32 * (t + 1));
}

// Returns a remainder multiplied by x^n, where n is the number of bits in a row.
__device__ unsigned past_a_row(const unsigned (&table)[4][256], unsigned rest) {
  return table[0][rest & 255] ^ table[1][rest >> 8 & 255] ^ table[2][rest >> 16 & 255] ^
         table[3][rest >> 24];
}

// Adds the chunk's remainder to `result`. The threads of a block read neighbouring units, row after
// row. Each thread keeps four remainders, one for each word of its units, and moves them to their
// positions at the end.
__global__ void __launch_bounds__(threads)
    remainder(const uint4* units, unsigned count, unsigned tile, unsigned* result) {
  __shared__ unsigned table[4][256];
  __shared__ unsigned of_block;
  for (unsigned i = threadIdx.x; i < 1024; i += threads)
    table[i / 256][i % 256] = over_a_row[i / 256][i % 256];
  if (threadIdx.x == 0) of_block = 0;
  __syncthreads();
  const unsigned end = count - blockIdx.x * tile;
  const unsigned size = min(end, tile);
  uint4 rest = {};
  for (unsigned row = (size + threads - 1) / threads; row-- > 0;) {
    const unsigned from_end = row * threads + threadIdx.x;
    const uint4 unit = from_end < size ? units[end - 1 - from_end] : uint4{};
    rest.x = past_a_row(table, rest.x) ^ unit.x;
    rest.y = past_a_row(table, rest.y) ^ unit.y;
    rest.z = past_a_row(table, rest.z) ^ unit.z;
    rest.w = past_a_row(table, rest.w) ^ unit.w;
  }
  const unsigned* const factors = in_a_row + 4 * threadIdx.x;
  atomicXor_block(&of_block, product(rest.x, factors[3]) ^ product(rest.y, factors[2]) ^
                                 product(rest.z, factors[1]) ^ product(rest.w, factors[0]));
  __syncthreads();
  if (threadIdx.x == 0) atomicXor(result, product(of_block, power(128ull * tile * blockIdx.x)));
}

// Adds the bytes of a word to four sets of counters in turn. Equal neighbouring bytes are common,
// and would otherwise contend for one counter.
__device__ void count_word(unsigned (&counters)[4][256], unsigned long long word) {
  for (unsigned i = 0; i < 8; ++i) atomicAdd_block(&counters[i % 4][word >> 8 * i & 255], 1u);
}

// Adds the number of occurrences of each byte value b in the units to counts[b].
__global__ void __launch_bounds__(threads)
    count_bytes(const ulonglong2* units, unsigned count, unsigned tile, unsigned* counts) {
  __shared__ unsigned own[4][256];
  for (unsigned b = threadIdx.x; b < 256; b += threads)
    own[0][b] = own[1][b] = own[2][b] = own[3][b] = 0;
  __syncthreads();
  const unsigned end = count - blockIdx.x * tile;
  const unsigned begin = end - min(end, tile);
  for (unsigned i = begin + threadIdx.x; i < end; i += threads) {
    const ulonglong2 unit = units[i];
    count_word(own, unit.x);
    count_word(own, unit.y);
  }
  __syncthreads();
  for (unsigned b = threadIdx.x; b < 256; b += threads) {
    const unsigned sum = own[0][b] + own[1][b] + own[2][b] + own[3][b];
    if (sum != 0) atomicAdd(&counts[b], sum);
  }
}
