// graph_algorithms.cu - graph algorithms: levels, components, distances, ranks.

// A level of a breadth-first search: the neighbors of the frontier become the next frontier.
__global__ void next_level(const int* starts, const int* targets, const int* frontier,
                           const int* size, int* next, int* next_size, int* levels, int level) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < *size; i += gridDim.x * blockDim.x) {
    const int node = frontier[i];
    for (int e = starts[node]; e < starts[node + 1]; ++e) {
      const int target = targets[e];
      if (atomicCAS(&levels[target], -1, level) == -1) next[atomicAdd(next_size, 1)] = target;
    }
  }
}

// Union-find without locks: each edge links the higher root to the lower one.
__device__ int root_of(volatile int* parents, int node) {
  while (parents[node] != node) {
    const int above = parents[parents[node]];
    parents[node] = above;  // path halving
    node = above;
  }
  return node;
}

__global__ void unite(const int2* edges, int count, int* parents) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  int a = root_of(parents, edges[i].x);
  int b = root_of(parents, edges[i].y);
  while (a != b) {
    if (a < b) {
      const int kept = a;
      a = b;
      b = kept;
    }
    const int seen = atomicCAS(&parents[a], a, b);
    if (seen == a) break;
    a = root_of(parents, seen);
    b = root_of(parents, b);
  }
}

__global__ void flatten(int* parents, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) parents[i] = root_of(parents, i);
}

// Bellman-Ford: relaxes every edge, and reports whether any distance decreased.
__global__ void relax_edges(const int3* edges, int count, unsigned* distances, int* changed) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const unsigned from = distances[edges[i].x];
  if (from == ~0u) return;
  const unsigned offer = from + edges[i].z;
  if (offer < atomicMin(&distances[edges[i].y], offer)) *changed = 1;
}

// Floyd-Warshall, one launch for each intermediate node.
__global__ void through(unsigned short* distances, int n, int via) {
  const int to = blockIdx.x * blockDim.x + threadIdx.x;
  const int from = blockIdx.y * blockDim.y + threadIdx.y;
  if (to >= n || from >= n) return;
  const unsigned way = distances[from * n + via] + distances[via * n + to];
  if (way < distances[from * n + to]) distances[from * n + to] = static_cast<unsigned short>(way);
}

// Counts triangles: for each edge the common neighbors of both ends, in sorted lists.
__global__ void triangles(const int* starts, const int* targets, int n, unsigned long long* count) {
  const int node = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned own = 0;
  if (node < n) {
    for (int e = starts[node]; e < starts[node + 1]; ++e) {
      const int other = targets[e];
      if (other <= node) continue;
      int i = starts[node], j = starts[other];
      while (i < starts[node + 1] && j < starts[other + 1]) {
        const int a = targets[i], b = targets[j];
        own += a == b && a > other;
        i += a <= b;
        j += b <= a;
      }
    }
  }
  own = __reduce_add_sync(0xffffffffu, own);
  if (threadIdx.x % warpSize == 0 && own > 0) atomicAdd(count, own);
}
