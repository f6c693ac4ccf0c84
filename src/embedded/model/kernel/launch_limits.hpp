// model/launch_limits.hpp - what a block and a multiprocessor have: an H200's, compute
// capability 9.0.
#pragma once

#include <cstddef>

namespace weir::embedded::model::limits {

inline constexpr std::size_t kib = 1024;

inline constexpr int architecture =
    90;  // as functions tell it, and as device_attributes.cpp has it
inline constexpr unsigned warp_size = 32;
inline constexpr unsigned threads_per_block = 1024;
inline constexpr unsigned warps_per_multiprocessor = 64;
inline constexpr unsigned blocks_per_multiprocessor = 32;

// Kernels here have no registers of the device's: they are told to have as many as never keep a
// block from running, so that a multiprocessor is full of threads.
inline constexpr unsigned registers_per_multiprocessor = 65536;
inline constexpr unsigned registers_per_thread =
    registers_per_multiprocessor / (warps_per_multiprocessor * warp_size);

inline constexpr std::size_t shared_per_block = 48 * kib;  // without asking
inline constexpr std::size_t shared_per_block_opt_in =
    227 * kib;  // with CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_...
inline constexpr std::size_t shared_per_multiprocessor = 228 * kib;
inline constexpr std::size_t shared_reserved_per_block = 1 * kib;
inline constexpr std::size_t shared_granularity = 128;

// The sizes that a multiprocessor's shared memory can be given; the rest is cache.
inline constexpr std::size_t shared_sizes[] = {0,         8 * kib,   16 * kib,  32 * kib,
                                               64 * kib,  100 * kib, 132 * kib, 164 * kib,
                                               196 * kib, 228 * kib};

// Multiprocessors are built in groups of these sizes, and what has to run together, a cluster of
// blocks, runs within one that has a multiprocessor for each of its blocks.
inline constexpr unsigned multiprocessor_groups[] = {18, 18, 16, 16, 16, 16, 16, 8, 2, 2, 2, 2};

inline constexpr unsigned portable_cluster = 8;       // blocks
inline constexpr unsigned non_portable_cluster = 16;  // where the function allows it

}  // namespace weir::embedded::model::limits
