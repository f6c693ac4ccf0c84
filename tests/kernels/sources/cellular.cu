// cellular.cu - cellular automata: many cells with one rule, generation by generation.

// Conway's Game of Life, on a torus; one byte for each cell.
__global__ void live(const unsigned char* from, unsigned char* to, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  const int left = (x + width - 1) % width, right = (x + 1) % width;
  const int above = (y + height - 1) % height * width, below = (y + 1) % height * width;
  const int here = y * width;
  const int neighbours = from[above + left] + from[above + x] + from[above + right] +
                         from[here + left] + from[here + right] + from[below + left] +
                         from[below + x] + from[below + right];
  to[here + x] = neighbours == 3 || (neighbours == 2 && from[here + x]);
}

// Several generations in one launch: one block holds both states of the whole world in shared
// memory.
template <int SIDE>
__global__ void live_in_a_block(unsigned char* world, int generations) {
  __shared__ unsigned char state[2][SIDE][SIDE];
  const int cells = SIDE * SIDE;
  unsigned char* const flat = &state[0][0][0];
  for (int i = threadIdx.x; i < cells; i += blockDim.x) flat[i] = world[i];
  __syncthreads();
  int now = 0;
  while (generations-- > 0) {
    for (int i = threadIdx.x; i < cells; i += blockDim.x) {
      const int x = i % SIDE, y = i / SIDE;
      int neighbours = 0;
      for (int dy = SIDE - 1; dy <= SIDE + 1; ++dy) {
        for (int dx = SIDE - 1; dx <= SIDE + 1; ++dx)
          neighbours += state[now][(y + dy) % SIDE][(x + dx) % SIDE];
      }
      const bool alive = state[now][y][x];
      state[now ^ 1][y][x] = neighbours == 3 || (alive && neighbours == 4);
    }
    now ^= 1;
    __syncthreads();
  }
  for (int i = threadIdx.x; i < cells; i += blockDim.x) world[i] = flat[now * cells + i];
}

// A row of cells, 32 in each word, under any of Wolfram's 256 rules; one step for each launch.
__global__ void step_words(const unsigned* from, unsigned* to, int words, unsigned rule) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= words) return;
  const unsigned centre = from[i];
  const unsigned left =
      // the lower neighbor of each cell
      __funnelshift_l(from[i == 0 ? words - 1 : i - 1], centre, 1);
  const unsigned right =
      // the higher neighbor of each cell
      __funnelshift_r(centre, from[i == words - 1 ? 0 : i + 1], 1);
  unsigned next = 0;
  for (unsigned pattern = 0; pattern < 8; ++pattern) {
    if (!(rule >> pattern & 1)) continue;
    next |= (pattern & 4 ? left : ~left) & (pattern & 2 ? centre : ~centre) &
            (pattern & 1 ? right : ~right);
  }
  to[i] = next;
}

enum class ground : unsigned char { empty, tree, fire };

// A forest fire: trees beside fire ignite, fire leaves ash. Counts the burning cells.
__global__ void burn(const ground* from, ground* to, int width, int height, int* burning) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  bool fire = false;
  if (x < width && y < height) {
    const auto burns = [=](int i, int j) {
      return i >= 0 && j >= 0 && i < width && j < height && from[j * width + i] == ground::fire;
    };
    ground next = ground::empty;
    switch (from[y * width + x]) {
      case ground::tree:
        next = burns(x - 1, y) || burns(x + 1, y) || burns(x, y - 1) || burns(x, y + 1)
                   ? ground::fire
                   : ground::tree;
        break;
      case ground::fire:
      case ground::empty: break;
    }
    fire = next == ground::fire;
    to[y * width + x] = next;
  }
  const int count = __syncthreads_count(fire);
  if (threadIdx.x == 0 && threadIdx.y == 0 && count > 0) atomicAdd(burning, count);
}
