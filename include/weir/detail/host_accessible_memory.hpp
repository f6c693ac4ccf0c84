// SPDX-License-Identifier: Apache-2.0
// weir/detail/host_accessible_memory.hpp - memory that the host and devices can access: the untyped
// part of pinned and managed buffers.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/detail/export.hpp>
#include <weir/detail/unordered_memory.hpp>
#include <weir/device/device.hpp>

#include <cstddef>

namespace weir::detail {

enum class host_accessible_kind : unsigned char { pinned, managed };

inline constexpr unsigned pinned_for_all_devices = 1;  ///< CU_MEMHOSTALLOC_PORTABLE

class WEIR_EXPORT host_accessible_memory : public unordered_memory {
 public:
  /// Allocates memory. `flags` are the flags of cuMemHostAlloc for pinned memory, and of
  /// cuMemAllocManaged for managed memory.
  host_accessible_memory(host_accessible_kind kind, std::size_t count, std::size_t element_bytes,
                         device gpu, unsigned flags, call_site at);
};

}  // namespace weir::detail
