// checksum.cu - checksums of chunks, one for each thread or block.

__constant__ unsigned crc_table[256];

// The table of zlib's reflected polynomial; each thread computes one value.
__global__ void make_crc_table(unsigned* table) {
  unsigned value = threadIdx.x;
  for (int bit = 0; bit < 8; ++bit) value = value & 1 ? value >> 1 ^ 0xedb88320u : value >> 1;
  table[threadIdx.x] = value;
}

__global__ void crc32(const unsigned char* data, size_t size, unsigned chunk, unsigned* sums) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  const size_t begin = static_cast<size_t>(i) * chunk;
  if (begin >= size) return;
  const size_t end = min(begin + chunk, size);
  unsigned crc = ~0u;
  for (size_t k = begin; k < end; ++k) crc = crc_table[(crc ^ data[k]) & 0xff] ^ crc >> 8;
  sums[i] = ~crc;
}

// Adler-32 of the block's chunk: each thread computes part of both sums, which shuffles and atomics
// add up.
__global__ void adler32(const unsigned char* data, unsigned size, unsigned chunk, unsigned* sums) {
  constexpr unsigned long long prime = 65521;
  __shared__ unsigned long long low, high;
  const unsigned begin = blockIdx.x * chunk;
  const unsigned count = min(chunk, size - begin);
  if (threadIdx.x == 0) low = 1, high = count;
  __syncthreads();
  unsigned long long a = 0, b = 0;
  for (unsigned k = threadIdx.x; k < count; k += blockDim.x) {
    a += data[begin + k];
    b += static_cast<unsigned long long>(count - k) * data[begin + k];
  }
  atomicAdd(&low, a);
  atomicAdd(&high, b);
  __syncthreads();
  if (threadIdx.x == 0) sums[blockIdx.x] = static_cast<unsigned>(high % prime << 16 | low % prime);
}

__device__ unsigned long long fnv1a(const char* text, unsigned length) {
  unsigned long long hash = 0xcbf29ce484222325ull;
  while (length-- > 0) hash = (hash ^ static_cast<unsigned char>(*text++)) * 0x100000001b3ull;
  return hash;
}

// Hashes strings stored one behind the other; `starts` has one more element than there are strings.
__global__ void hash_strings(const char* text, const unsigned* starts, unsigned long long* hashes,
                             int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    hashes[i] = fnv1a(text + starts[i], starts[i + 1] - starts[i]);
  }
}

__device__ __constant__ unsigned sha_start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                                 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
__constant__ unsigned sha_rounds[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

// SHA-256 of a big-endian 4-byte number, as in mining.
__global__ void sha256_of_numbers(unsigned first, unsigned n, uint4* digests) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned w[64] = {first + i, 0x80000000u};
  w[15] = 32;
  for (int k = 16; k < 64; ++k) {
    const unsigned a = w[k - 15], b = w[k - 2];
    w[k] = w[k - 16] + w[k - 7] + (__funnelshift_r(a, a, 7) ^ __funnelshift_r(a, a, 18) ^ a >> 3) +
           (__funnelshift_r(b, b, 17) ^ __funnelshift_r(b, b, 19) ^ b >> 10);
  }
  unsigned h[8];
  for (int k = 0; k < 8; ++k) h[k] = sha_start[k];
  for (int k = 0; k < 64; ++k) {
    const unsigned e = h[4], a = h[0];
    const unsigned t1 =
        h[7] + (__funnelshift_r(e, e, 6) ^ __funnelshift_r(e, e, 11) ^ __funnelshift_r(e, e, 25)) +
        ((e & h[5]) ^ (~e & h[6])) + sha_rounds[k] + w[k];
    const unsigned t2 =
        (__funnelshift_r(a, a, 2) ^ __funnelshift_r(a, a, 13) ^ __funnelshift_r(a, a, 22)) +
        ((a & h[1]) ^ (a & h[2]) ^ (h[1] & h[2]));
    for (int m = 7; m > 0; --m) h[m] = h[m - 1];
    h[4] += t1;
    h[0] = t1 + t2;
  }
  for (int k = 0; k < 8; ++k) h[k] += sha_start[k];
  digests[2 * i] = make_uint4(h[0], h[1], h[2], h[3]);
  digests[2 * i + 1] = make_uint4(h[4], h[5], h[6], h[7]);
}
