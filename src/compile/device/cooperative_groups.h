// SPDX-License-Identifier: Apache-2.0
// cooperative_groups.h - groups of threads that wait for and tell each other.
#pragma once

#define WEIR_GROUP inline __attribute__((always_inline))

namespace cooperative_groups {

// The lanes of a warp that are in the mask, ranked in their order.
class weir_lanes {
 public:
  WEIR_GROUP unsigned size() const { return (unsigned)__builtin_popcount(mask_); }
  WEIR_GROUP unsigned num_threads() const { return size(); }
  WEIR_GROUP unsigned thread_rank() const { return (unsigned)__builtin_popcount(mask_ & ((1u << weir_lane()) - 1)); }
  WEIR_GROUP void sync() const { __syncwarp(mask_); }
  WEIR_GROUP unsigned weir_mask() const { return mask_; }

  template <class T>
  WEIR_GROUP T shfl(T value, unsigned rank) const {
    return pick(value, rank);
  }
  template <class T>
  WEIR_GROUP T shfl_up(T value, unsigned delta) const {
    const unsigned rank = thread_rank();
    return pick(value, rank >= delta ? rank - delta : rank);
  }
  template <class T>
  WEIR_GROUP T shfl_down(T value, unsigned delta) const {
    const unsigned rank = thread_rank();
    return pick(value, rank + delta < size() ? rank + delta : rank);
  }
  template <class T>
  WEIR_GROUP T shfl_xor(T value, unsigned bits) const {
    const unsigned rank = thread_rank() ^ bits;
    return pick(value, rank < size() ? rank : thread_rank());
  }
  WEIR_GROUP int any(int predicate) const { return __any_sync(mask_, predicate); }
  WEIR_GROUP int all(int predicate) const { return __all_sync(mask_, predicate); }
  WEIR_GROUP unsigned ballot(int predicate) const { return packed(__ballot_sync(mask_, predicate)); }
  template <class T>
  WEIR_GROUP unsigned match_any(T value) const {
    return packed(__match_any_sync(mask_, value));
  }
  template <class T>
  WEIR_GROUP unsigned match_all(T value, int& same) const {
    return packed(__match_all_sync(mask_, value, &same));
  }

  // Every member's value, by lane. For values of any size, eight bytes at a time.
  template <class T>
  WEIR_GROUP void weir_gather(const T& value, T (&all)[32]) const {
    constexpr unsigned words = (sizeof(T) + 7) / 8;
    unsigned long long mine[words] = {};
    __builtin_memcpy(mine, &value, sizeof value);
    for (unsigned w = 0; w < words; ++w) {
      unsigned present;
      const unsigned long long* given = weir_exchange(mask_, mine[w], &present);
      const unsigned bytes = sizeof(T) - w * 8 < 8 ? (unsigned)sizeof(T) - w * 8 : 8u;
      for (unsigned i = 0; i < 32; ++i) __builtin_memcpy((char*)&all[i] + w * 8, &given[i], bytes);
    }
  }

 protected:
  WEIR_GROUP explicit weir_lanes(unsigned mask) : mask_(mask) {}
  WEIR_GROUP unsigned lane_of(unsigned rank) const {
    const unsigned lane = __fns(mask_, 0, (int)rank + 1);
    return lane < 32 ? lane : weir_lane();
  }
  // A mask of lanes as one of ranks.
  WEIR_GROUP unsigned packed(unsigned lanes) const {
    unsigned result = 0, rank = 0;
    for (unsigned i = 0; i < 32; ++i)
      if (mask_ >> i & 1) result |= (lanes >> i & 1) << rank++;
    return result;
  }
  template <class T>
  WEIR_GROUP T pick(const T& value, unsigned rank) const {
    T all[32];
    weir_gather(value, all);
    return all[lane_of(rank)];
  }
  unsigned mask_;
};

class coalesced_group : public weir_lanes {
 public:
  WEIR_GROUP explicit coalesced_group(unsigned weir_mask) : weir_lanes(weir_mask) {}
  WEIR_GROUP unsigned meta_group_rank() const { return 0; }
  WEIR_GROUP unsigned meta_group_size() const { return 1; }
};
WEIR_HD coalesced_group coalesced_threads(const char* file = __builtin_FILE(), unsigned line = __builtin_LINE()) {
  return coalesced_group(__activemask(file, line));
}

class thread_block {
 public:
  typedef unsigned arrival_token;
  WEIR_GROUP static void sync() { __syncthreads(); }
  WEIR_GROUP arrival_token barrier_arrive() const { return 0; }
  WEIR_GROUP void barrier_wait(arrival_token) const { __syncthreads(); }
  WEIR_GROUP static unsigned thread_rank() { return weir_linear_thread(); }
  WEIR_GROUP static unsigned num_threads() { return weir_block_threads(); }
  WEIR_GROUP static unsigned size() { return weir_block_threads(); }
  WEIR_GROUP static dim3 thread_index() { return threadIdx; }
  WEIR_GROUP static dim3 group_index() { return blockIdx; }
  WEIR_GROUP static dim3 dim_threads() { return blockDim; }
  WEIR_GROUP static dim3 group_dim() { return blockDim; }
};
WEIR_HD thread_block this_thread_block() { return thread_block(); }

// Threads of a warp that lie side by side, among the tiles of such a size that their parent has.
template <unsigned Size, class Parent = void>
class thread_block_tile;
template <unsigned Size>
class thread_block_tile<Size, void> : public weir_lanes {
  static_assert(Size >= 1 && Size <= 32 && (Size & (Size - 1)) == 0,
                "tiles of more than a warp are not supported on the embedded device");

 public:
  WEIR_GROUP static constexpr unsigned size() { return Size; }
  WEIR_GROUP static constexpr unsigned num_threads() { return Size; }
  WEIR_GROUP unsigned thread_rank() const { return weir_lane() & (Size - 1); }
  WEIR_GROUP unsigned meta_group_rank() const { return meta_rank_; }
  WEIR_GROUP unsigned meta_group_size() const { return meta_size_; }

 protected:
  WEIR_GROUP thread_block_tile(unsigned rank, unsigned of)
      : weir_lanes((unsigned)((1ull << Size) - 1) << (weir_lane() & ~(Size - 1))),
        meta_rank_(rank / Size),
        meta_size_((of + Size - 1) / Size) {}

 private:
  unsigned meta_rank_, meta_size_;
};
template <unsigned Size, class Parent>
class thread_block_tile : public thread_block_tile<Size> {
 public:
  WEIR_GROUP explicit thread_block_tile(const Parent& parent)
      : thread_block_tile<Size>(parent.thread_rank(), parent.size()) {}
};

// A group whose kind is known when the kernel runs.
class thread_group {
 public:
  WEIR_GROUP thread_group(const thread_block&) : mask_(0) {}
  WEIR_GROUP thread_group(const weir_lanes& lanes) : mask_(lanes.weir_mask()) {}
  WEIR_GROUP void sync() const {
    if (mask_ == 0)
      __syncthreads();
    else
      __syncwarp(mask_);
  }
  WEIR_GROUP unsigned size() const { return mask_ == 0 ? weir_block_threads() : (unsigned)__builtin_popcount(mask_); }
  WEIR_GROUP unsigned num_threads() const { return size(); }
  WEIR_GROUP unsigned thread_rank() const {
    return mask_ == 0 ? weir_linear_thread() : (unsigned)__builtin_popcount(mask_ & ((1u << weir_lane()) - 1));
  }

 private:
  unsigned mask_;  // 0: the block
};

template <unsigned Size, class Parent>
WEIR_HD thread_block_tile<Size, Parent> tiled_partition(const Parent& parent) {
  return thread_block_tile<Size, Parent>(parent);
}
WEIR_HD thread_group tiled_partition(const thread_block&, unsigned size) {
  return coalesced_group((unsigned)((1ull << size) - 1) << (weir_lane() & ~(size - 1)));
}
// The members of a group that have the same label.
template <class Group, class Label>
WEIR_HD coalesced_group labeled_partition(const Group& group, Label label) {
  return coalesced_group(__match_any_sync(group.weir_mask(), label));
}
template <class Group>
WEIR_HD coalesced_group binary_partition(const Group& group, bool predicate) {
  return labeled_partition(group, (int)predicate);
}

class grid_group {
 public:
  typedef unsigned arrival_token;
  WEIR_GROUP bool is_valid() const { return true; }
  WEIR_GROUP void sync() const { weir_sync_grid(); }
  WEIR_GROUP arrival_token barrier_arrive() const { return 0; }
  WEIR_GROUP void barrier_wait(arrival_token) const { weir_sync_grid(); }
  WEIR_GROUP static unsigned long long num_blocks() { return (unsigned long long)gridDim.x * gridDim.y * gridDim.z; }
  WEIR_GROUP static unsigned long long block_rank() {
    return ((unsigned long long)blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  }
  WEIR_GROUP static unsigned long long num_threads() { return num_blocks() * weir_block_threads(); }
  WEIR_GROUP static unsigned long long size() { return num_threads(); }
  WEIR_GROUP static unsigned long long thread_rank() {
    return block_rank() * weir_block_threads() + weir_linear_thread();
  }
  WEIR_GROUP static dim3 block_index() { return blockIdx; }
  WEIR_GROUP static dim3 dim_blocks() { return gridDim; }
  WEIR_GROUP static dim3 group_dim() { return gridDim; }
};
WEIR_HD grid_group this_grid() { return grid_group(); }

class cluster_group {
 public:
  typedef unsigned arrival_token;
  WEIR_GROUP static void sync() { weir_sync_cluster(); }
  WEIR_GROUP static arrival_token barrier_arrive() { return 0; }
  WEIR_GROUP static void barrier_wait() { weir_sync_cluster(); }
  WEIR_GROUP static void barrier_wait(arrival_token) { weir_sync_cluster(); }
  WEIR_GROUP static dim3 dim_blocks() {
    return dim3(weir_current->cluster.x, weir_current->cluster.y, weir_current->cluster.z);
  }
  WEIR_GROUP static dim3 block_index() {
    const weir_extent c = weir_current->cluster;
    return dim3(blockIdx.x % c.x, blockIdx.y % c.y, blockIdx.z % c.z);
  }
  WEIR_GROUP static unsigned num_blocks() {
    const weir_extent c = weir_current->cluster;
    return c.x * c.y * c.z;
  }
  WEIR_GROUP static unsigned block_rank() {
    const weir_extent c = weir_current->cluster;
    const dim3 at = block_index();
    return (at.z * c.y + at.y) * c.x + at.x;
  }
  WEIR_GROUP static unsigned num_threads() { return num_blocks() * weir_block_threads(); }
  WEIR_GROUP static unsigned size() { return num_threads(); }
  WEIR_GROUP static unsigned thread_rank() { return block_rank() * weir_block_threads() + weir_linear_thread(); }
  template <class T>
  WEIR_GROUP static T* map_shared_rank(T* address, unsigned rank) {
    return (T*)weir_driver->cluster_address((const void*)address, rank);
  }
};
WEIR_HD cluster_group this_cluster() { return cluster_group(); }

WEIR_HD void sync(const thread_block&) { __syncthreads(); }
WEIR_HD void sync(const thread_group& group) { group.sync(); }
WEIR_HD void sync(const grid_group& group) { group.sync(); }
template <class Group>
WEIR_HD auto thread_rank(const Group& group) -> decltype(group.thread_rank()) {
  return group.thread_rank();
}
template <class Group>
WEIR_HD auto group_size(const Group& group) -> decltype(group.size()) {
  return group.size();
}

// One member runs it; of which one nothing is said.
template <class Group, class F>
WEIR_HD void invoke_one(const Group& group, F f) {
  if (group.thread_rank() == 0) f();
}
template <class Group, class F>
WEIR_HD auto invoke_one_broadcast(const Group& group, F f) -> decltype(f()) {
  decltype(f()) result{};
  if (group.thread_rank() == 0) result = f();
  return group.shfl(result, 0);
}

template <class T = void>
struct plus {
  template <class U>
  WEIR_GROUP U operator()(const U& a, const U& b) const {
    return a + b;
  }
};
template <class T = void>
struct less {
  template <class U>
  WEIR_GROUP U operator()(const U& a, const U& b) const {
    return b < a ? b : a;
  }
};
template <class T = void>
struct greater {
  template <class U>
  WEIR_GROUP U operator()(const U& a, const U& b) const {
    return a < b ? b : a;
  }
};
template <class T = void>
struct bit_and {
  template <class U>
  WEIR_GROUP U operator()(const U& a, const U& b) const {
    return a & b;
  }
};
template <class T = void>
struct bit_or {
  template <class U>
  WEIR_GROUP U operator()(const U& a, const U& b) const {
    return a | b;
  }
};
template <class T = void>
struct bit_xor {
  template <class U>
  WEIR_GROUP U operator()(const U& a, const U& b) const {
    return a ^ b;
  }
};

// In the order of ranks.
template <class Group, class T, class F>
WEIR_HD T reduce(const Group& group, T value, F f) {
  T all[32];
  group.weir_gather(value, all);
  T total = value;
  bool first = true;
  for (unsigned i = 0; i < 32; ++i) {
    if (!(group.weir_mask() >> i & 1)) continue;
    total = first ? all[i] : (T)f(total, all[i]);
    first = false;
  }
  return total;
}
template <class Group, class T, class F>
WEIR_HD T inclusive_scan(const Group& group, T value, F f) {
  T all[32];
  group.weir_gather(value, all);
  T total = value;
  bool first = true;
  for (unsigned i = 0; i <= weir_lane(); ++i) {
    if (!(group.weir_mask() >> i & 1)) continue;
    total = first ? all[i] : (T)f(total, all[i]);
    first = false;
  }
  return total;
}
template <class Group, class T>
WEIR_HD T inclusive_scan(const Group& group, T value) {
  return inclusive_scan(group, value, plus<T>());
}
template <class Group, class T, class F>
WEIR_HD T exclusive_scan(const Group& group, T value, F f) {
  T all[32];
  group.weir_gather(value, all);
  T total = T();
  bool first = true;
  for (unsigned i = 0; i < weir_lane(); ++i) {
    if (!(group.weir_mask() >> i & 1)) continue;
    total = first ? all[i] : (T)f(total, all[i]);
    first = false;
  }
  return total;
}
template <class Group, class T>
WEIR_HD T exclusive_scan(const Group& group, T value) {
  return exclusive_scan(group, value, plus<T>());
}

}  // namespace cooperative_groups
#undef WEIR_GROUP
