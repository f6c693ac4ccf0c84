// SPDX-License-Identifier: Apache-2.0
// embedded/model/memory/pool/pool_access.hpp - which devices, besides its own, may access a pool's
// memory.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "driver/abi.hpp"

namespace weir::embedded::model {

// The access that was granted to each user of a pool. A user is a device, named by its ordinal, or
// `host` or `host_node`. A user without an entry has no access.
//
// Thread safety: none; the pool's lock guards it.
class pool_access {
 public:
  static constexpr int host = -1;
  static constexpr int host_node = -2;

  [[nodiscard]] abi::CUmemAccess_flags get(int user) const noexcept {
    const auto found = std::ranges::find(granted_, user, &entry::first);
    return found == granted_.end() ? abi::CU_MEM_ACCESS_FLAGS_PROT_NONE : found->second;
  }

  // Throws std::bad_alloc.
  void set(int user, abi::CUmemAccess_flags flags) {
    const auto found = std::ranges::find(granted_, user, &entry::first);
    if (found == granted_.end()) {
      granted_.emplace_back(user, flags);
    } else {
      found->second = flags;
    }
  }

  // Returns the highest access of any device.
  [[nodiscard]] abi::CUmemAccess_flags highest_of_devices() const noexcept {
    abi::CUmemAccess_flags highest = abi::CU_MEM_ACCESS_FLAGS_PROT_NONE;
    for (const auto& [user, flags] : granted_) {
      if (user >= 0) highest = std::max(highest, flags);
    }
    return highest;
  }

  void clear() noexcept { granted_.clear(); }

 private:
  using entry = std::pair<int, abi::CUmemAccess_flags>;
  std::vector<entry> granted_;
};

}  // namespace weir::embedded::model
