// atomics.cu - concurrent writes by threads of all blocks: counters, lists, queues, locks.
#include <cuda/atomic>

// The results of each atomic operation, in its own cell.
__global__ void every_one(const unsigned* x, int n, unsigned* cells, unsigned long long* wide,
                          float* reals) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const unsigned v = x[i];
  atomicAdd(&cells[0], v);
  atomicSub(&cells[1], v);
  atomicMin(&cells[2], v);
  atomicMax(&cells[3], v);
  atomicMin(reinterpret_cast<int*>(&cells[4]), static_cast<int>(v));
  atomicMax(reinterpret_cast<int*>(&cells[5]), static_cast<int>(v));
  atomicAnd(&cells[6], v | 0xff);
  atomicOr(&cells[7], v & 0x00ffff00);
  atomicXor(&cells[8], v);
  atomicInc(&cells[9], 99);
  atomicDec(&cells[10], 99);
  atomicExch(&cells[11], 77);
  atomicAdd(reinterpret_cast<int*>(&cells[12]), -1);
  atomicAdd(&wide[0], static_cast<unsigned long long>(v) << 20);
  atomicMax(&wide[1], static_cast<unsigned long long>(v) * v);
  atomicXor(&wide[2], static_cast<unsigned long long>(v) << 32 | v);
  atomicAnd(&wide[3], ~(1ull << v % 64));
  atomicAdd(&reals[0], static_cast<float>(v & 15));
  atomicAdd(reinterpret_cast<double*>(&wide[4]), static_cast<double>(v));
}

// An operation without an instruction, by compare and swap.
__device__ float atomic_max(float* address, float value) {
  int* const word = reinterpret_cast<int*>(address);
  int seen = *word;
  while (__int_as_float(seen) < value) {
    const int expected = seen;
    seen = atomicCAS(word, expected, __float_as_int(value));
    if (seen == expected) break;
  }
  return __int_as_float(seen);
}

__device__ double atomic_multiply(double* address, double value) {
  unsigned long long* const word = reinterpret_cast<unsigned long long*>(address);
  unsigned long long seen = *word, expected;
  do {
    expected = seen;
    seen = atomicCAS(word, expected, __double_as_longlong(value * __longlong_as_double(expected)));
  } while (seen != expected);
  return __longlong_as_double(seen);
}

__global__ void by_swaps(const float* x, int n, float* greatest, double* product,
                         unsigned short* halves) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  atomic_max(greatest, x[i]);
  if (i % 100 == 0) atomic_multiply(product, 2.0);
  unsigned short seen = halves[i & 3], expected;
  do {
    expected = seen;
    seen = atomicCAS(&halves[i & 3], expected, static_cast<unsigned short>(expected + 1));
  } while (seen != expected);
}

struct node {
  int value;
  int next;
};

// Linked lists: each thread pushes its node to the front of its list.
__global__ void push(const int* values, node* nodes, int* heads, int lists, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  nodes[i].value = values[i];
  int* const head = &heads[static_cast<unsigned>(values[i]) % lists];
  int first = *head, seen;
  do {
    seen = first;
    nodes[i].next = seen;
    __threadfence();
    first = atomicCAS(head, seen, i);
  } while (first != seen);
}

// Takes work from a queue until it is empty, and adds more work: a number is split into its parts.
struct queue {
  unsigned taken, given;
  int open;  // items given out and not finished
};

__global__ void work(queue* q, volatile int* items, int capacity, int* leaves) {
  while (atomicAdd(&q->open, 0) > 0) {
    const unsigned place = *static_cast<volatile unsigned*>(&q->taken);
    if (place >= *static_cast<volatile unsigned*>(&q->given)) {
      __nanosleep(100);
      continue;
    }
    const int item = items[place];
    if (item == 0) continue;  // its slot is reserved, but not written yet
    if (atomicCAS(&q->taken, place, place + 1) != place) continue;
    if (item == 1) {
      atomicAdd(leaves, 1);
    } else {
      atomicAdd(&q->open, 2);
      const unsigned to = atomicAdd(&q->given, 2);
      if (to + 1 >= capacity) __trap();
      items[to] = item / 2;
      items[to + 1] = item - item / 2;
      __threadfence();
    }
    atomicSub(&q->open, 1);
  }
}

// A lock that one thread of a block takes at a time, for data larger than a word.
__device__ int lock;

struct record {
  long long count, sum, greatest;
};

__global__ void guarded(const int* x, int n, volatile record* all) {
  __shared__ long long count, sum, greatest;
  if (threadIdx.x == 0) count = 0, sum = 0, greatest = -(1ll << 40);
  __syncthreads();
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    atomicAdd(reinterpret_cast<unsigned long long*>(&count), 1ull);
    atomicAdd(reinterpret_cast<unsigned long long*>(&sum), static_cast<unsigned long long>(x[i]));
    atomicMax(&greatest, static_cast<long long>(x[i]));
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  while (atomicCAS(&lock, 0, 1) != 0) __nanosleep(20);
  __threadfence();
  all->count += count;
  all->sum += sum;
  if (greatest > all->greatest) all->greatest = greatest;
  __threadfence();
  atomicExch(&lock, 0);
}

// A hash table with open addressing: each key once, with its count.
__global__ void insert(const unsigned* keys, int n, unsigned* slots, unsigned* counts,
                       unsigned size) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  for (unsigned slot = keys[i] * 2654435761u % size;; slot = (slot + 1) % size) {
    const unsigned there = atomicCAS(&slots[slot], ~0u, keys[i]);
    if (there != ~0u && there != keys[i]) continue;
    atomicAdd(&counts[slot], 1);
    return;
  }
}

// The standard library's atomics, in every scope.
__device__ cuda::atomic<unsigned, cuda::thread_scope_device> arrived{0};

__global__ void of_the_library(const unsigned* x, int n, unsigned* cells) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  cuda::atomic_ref<unsigned, cuda::thread_scope_device>(cells[0]).fetch_add(
      x[i], cuda::std::memory_order_relaxed);
  cuda::atomic_ref<unsigned, cuda::thread_scope_system> greatest(cells[1]);
  unsigned seen = greatest.load();
  while (seen < x[i] && !greatest.compare_exchange_weak(seen, x[i])) {
  }
  // The last thread to arrive records the count, and resets it for the next launch.
  if (arrived.fetch_add(1, cuda::std::memory_order_acq_rel) == n - 1) {
    cells[2] = arrived.exchange(0);
  }
}
