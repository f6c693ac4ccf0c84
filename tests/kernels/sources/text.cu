// text.cu - byte strings: searched, counted, rewritten.

__global__ void to_upper(char* text, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && text[i] >= 'a' && text[i] <= 'z') text[i] -= 'a' - 'A';
}

// A word starts where a letter follows a non-letter.
__device__ bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

__global__ void count_words(const char* text, int n, unsigned* words) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const bool begins = i < n && is_letter(text[i]) && (i == 0 || !is_letter(text[i - 1]));
  const unsigned in_warp = __ballot_sync(0xffffffffu, begins);
  if (threadIdx.x % 32 == 0 && in_warp != 0) atomicAdd(words, __popc(in_warp));
}

__constant__ char digits[] = "0123456789abcdef";

__global__ void to_hex(const unsigned char* bytes, int n, char2* text) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) text[i] = make_char2(digits[bytes[i] >> 4], digits[bytes[i] & 15]);
}

__global__ void to_base64(const unsigned char* bytes, unsigned n, uchar4* text) {
  static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (3 * i >= n) return;
  const unsigned left = n - 3 * i;
  const unsigned group = bytes[3 * i] << 16 | (left > 1 ? bytes[3 * i + 1] << 8 : 0) |
                         (left > 2 ? bytes[3 * i + 2] : 0);
  text[i] =
      make_uchar4(letters[group >> 18], letters[group >> 12 & 63],
                  left > 1 ? letters[group >> 6 & 63] : '=', left > 2 ? letters[group & 63] : '=');
}

// Finds and counts the positions of a pattern, in any order.
struct pattern {
  char text[12];
  int length;
};

__global__ void find_all(const char* text, int n, pattern wanted, int* places, int* count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i + wanted.length > n) return;
  for (int k = 0; k < wanted.length; ++k) {
    if (text[i + k] != wanted.text[k]) return;
  }
  places[atomicAdd(count, 1)] = i;
}

// Counts UTF-8 code points: all bytes except continuation bytes.
__global__ void count_code_points(const unsigned* words, int n, int* count) {
  int own = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    const unsigned w = words[i];
    own += __popc((~w >> 7 | w >> 6) & 0x01010101u);
  }
  atomicAdd(count, own);
}

// The edit distance of two words, one diagonal of the table at a time.
__global__ void edit_distance(const char* a, int na, const char* b, int nb, int* distance) {
  extern __shared__ int diagonals[];  // three of them, with na + 1 elements each
  for (int d = 0; d <= na + nb; ++d) {
    int* const now = diagonals + d % 3 * (na + 1);
    const int* const one = diagonals + (d + 2) % 3 * (na + 1);
    const int* const two = diagonals + (d + 1) % 3 * (na + 1);
    for (int i = max(0, d - nb) + threadIdx.x; i <= min(d, na); i += blockDim.x) {
      const int j = d - i;
      if (i == 0 || j == 0) {
        now[i] = d;
      } else {
        now[i] = min(min(one[i - 1], one[i]) + 1, two[i - 1] + (a[i - 1] != b[j - 1]));
      }
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) *distance = diagonals[(na + nb) % 3 * (na + 1) + na];
}
