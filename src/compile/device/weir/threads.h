// SPDX-License-Identifier: Apache-2.0
// weir/threads.h - barriers, and what the threads of a warp tell each other. Each call lets other threads of the block run on
// the same thread of the host in the meantime, so threadIdx is kept on this thread's stack.
#pragma once

WEIR_HD unsigned weir_barrier_of(weir_barrier kind, unsigned predicate) {
  const uint3 self = threadIdx;
  const unsigned answer = weir_driver->block_barrier(kind, predicate);
  threadIdx = self;
  return answer;
}
WEIR_HD void __syncthreads() { weir_barrier_of(weir_barrier_plain, 0); }
WEIR_HD int __syncthreads_count(int p) { return (int)weir_barrier_of(weir_barrier_count, p != 0); }
WEIR_HD int __syncthreads_and(int p) { return (int)weir_barrier_of(weir_barrier_and, p != 0); }
WEIR_HD int __syncthreads_or(int p) { return (int)weir_barrier_of(weir_barrier_or, p != 0); }
WEIR_HD void __barrier_sync(unsigned) { __syncthreads(); }

WEIR_HD void __syncwarp(unsigned mask = 0xffffffffu) {
  const uint3 self = threadIdx;
  weir_driver->warp_barrier(mask);
  threadIdx = self;
}
WEIR_HD const unsigned long long* weir_exchange(unsigned mask, unsigned long long value, unsigned* present) {
  const uint3 self = threadIdx;
  const unsigned long long* all = weir_driver->warp_exchange(mask, value, present);
  threadIdx = self;
  return all;
}
// The caller's file and line tell one call from another.
WEIR_HD unsigned __activemask(const char* file = __builtin_FILE(), unsigned line = __builtin_LINE()) {
  const uint3 self = threadIdx;
  const unsigned mask = weir_driver->active_mask((const void*)((__UINTPTR_TYPE__)file + line));
  threadIdx = self;
  return mask;
}
WEIR_HD void __nanosleep(unsigned nanoseconds) {
  const uint3 self = threadIdx;
  weir_driver->sleep(nanoseconds);
  threadIdx = self;
}
WEIR_HD void weir_sync_grid() {
  const uint3 self = threadIdx;
  weir_driver->grid_barrier();
  threadIdx = self;
}
WEIR_HD void weir_sync_cluster() {
  const uint3 self = threadIdx;
  weir_driver->cluster_barrier();
  threadIdx = self;
}

// Values of up to 8 bytes travel as 64 bits.
template <class T>
WEIR_HD unsigned long long weir_to_bits(const T& value) {
  static_assert(sizeof(T) <= 8, "warp functions take values of up to 8 bytes");
  unsigned long long bits = 0;
  __builtin_memcpy(&bits, &value, sizeof value);
  return bits;
}
template <class T>
WEIR_HD T weir_from_bits(unsigned long long bits) {
  T value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}

// Lanes that are not there leave the caller's own value.
template <class T>
WEIR_HD T weir_shuffle(unsigned mask, const T& value, unsigned from, bool inside, int* predicate) {
  unsigned present;
  const unsigned long long* all = weir_exchange(mask, weir_to_bits(value), &present);
  const bool there = inside && (present >> (from & 31) & 1);
  if (predicate) *predicate = inside;
  return there ? weir_from_bits<T>(all[from & 31]) : value;
}
template <class T>
WEIR_HD T __shfl_sync(unsigned mask, T value, int source, int width = 32) {
  const unsigned w = (unsigned)width;
  return weir_shuffle(mask, value, (weir_lane() & ~(w - 1)) | ((unsigned)source & (w - 1)), true, (int*)0);
}
template <class T>
WEIR_HD T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  const unsigned lane = weir_lane(), within = lane & ((unsigned)width - 1);
  return weir_shuffle(mask, value, lane - delta, within >= delta, (int*)0);
}
template <class T>
WEIR_HD T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  const unsigned lane = weir_lane(), within = lane & ((unsigned)width - 1);
  return weir_shuffle(mask, value, lane + delta, within + delta < (unsigned)width, (int*)0);
}
template <class T>
WEIR_HD T __shfl_xor_sync(unsigned mask, T value, int bits, int width = 32) {
  const unsigned lane = weir_lane(), from = lane ^ (unsigned)bits, w = (unsigned)width;
  // Towards lower segments is allowed, towards higher ones not.
  return weir_shuffle(mask, value, from, from < 32 && (from & ~(w - 1)) <= (lane & ~(w - 1)), (int*)0);
}

WEIR_HD unsigned __ballot_sync(unsigned mask, int predicate) {
  unsigned present, votes = 0;
  const unsigned long long* all = weir_exchange(mask, predicate != 0, &present);
  for (unsigned i = 0; i < 32; ++i) votes |= (unsigned)(all[i] & present >> i & 1) << i;
  return votes & mask;
}
WEIR_HD int __any_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate) != 0; }
WEIR_HD int __all_sync(unsigned mask, int predicate) { return __ballot_sync(mask, !predicate) == 0; }
WEIR_HD int __uni_sync(unsigned mask, int predicate) {
  const unsigned present = __ballot_sync(mask, 1), votes = __ballot_sync(mask, predicate);
  return votes == 0 || votes == present;
}
template <class T>
WEIR_HD unsigned __match_any_sync(unsigned mask, T value) {
  unsigned present, same = 0;
  const unsigned long long mine = weir_to_bits(value), *all = weir_exchange(mask, mine, &present);
  for (unsigned i = 0; i < 32; ++i) same |= (unsigned)((present >> i & 1) && all[i] == mine) << i;
  return same & mask;
}
template <class T>
WEIR_HD unsigned __match_all_sync(unsigned mask, T value, int* all_same) {
  unsigned present;
  const unsigned long long mine = weir_to_bits(value), *all = weir_exchange(mask, mine, &present);
  *all_same = 1;
  for (unsigned i = 0; i < 32; ++i)
    if ((mask & present) >> i & 1 && all[i] != mine) *all_same = 0;
  return *all_same ? mask & present : 0;
}
template <class T, class F>
WEIR_HD T weir_reduce(unsigned mask, T value, F f) {
  unsigned present;
  const unsigned long long* all = weir_exchange(mask, weir_to_bits(value), &present);
  bool first = true;
  T total = value;
  for (unsigned i = 0; i < 32; ++i) {
    if (!((mask & present) >> i & 1)) continue;
    total = first ? weir_from_bits<T>(all[i]) : f(total, weir_from_bits<T>(all[i]));
    first = false;
  }
  return total;
}
#define WEIR_REDUCE(name, T, expression)                                       \
  WEIR_HD T __reduce_##name##_sync(unsigned mask, T value) {                   \
    return weir_reduce(mask, value, [](T a, T b) -> T { return expression; }); \
  }
WEIR_REDUCE(add, unsigned, a + b)
WEIR_REDUCE(add, int, (int)((unsigned)a + (unsigned)b))
WEIR_REDUCE(min, unsigned, a < b ? a : b)
WEIR_REDUCE(min, int, a < b ? a : b)
WEIR_REDUCE(max, unsigned, a > b ? a : b)
WEIR_REDUCE(max, int, a > b ? a : b)
WEIR_REDUCE(and, unsigned, a& b)
WEIR_REDUCE(or, unsigned, a | b)
WEIR_REDUCE(xor, unsigned, a ^ b)
#undef WEIR_REDUCE
