// SPDX-License-Identifier: Apache-2.0
// compile/host/waiting.cpp - names, in alphabetical order.
#include "compile/host/waiting.hpp"

#include <algorithm>
#include <array>

namespace weir::compile {

bool waits_by_itself(std::string_view name, bool groups) noexcept {
  static constexpr std::array<std::string_view, 24> names{
      "__activemask",        "__all_sync",        "__any_sync",        "__ballot_sync",
      "__barrier_sync",      "__match_all_sync",  "__match_any_sync",  "__nanosleep",
      "__reduce_add_sync",   "__reduce_and_sync", "__reduce_max_sync", "__reduce_min_sync",
      "__reduce_or_sync",    "__reduce_xor_sync", "__shfl_down_sync",  "__shfl_sync",
      "__shfl_up_sync",      "__shfl_xor_sync",   "__syncthreads",     "__syncthreads_and",
      "__syncthreads_count", "__syncthreads_or",  "__syncwarp",        "__uni_sync",
  };
  // Everyday names: in a source that includes cooperative groups, a kernel that uses one of them
  // for something else runs on fibers too, which is slower and right.
  static constexpr std::array<std::string_view, 26> of_groups{
      "all",
      "any",
      "arrive_and_wait",
      "ballot",
      "barrier_arrive",
      "barrier_wait",
      "binary_partition",
      "coalesced_threads",
      "exclusive_scan",
      "exclusive_scan_update",
      "inclusive_scan",
      "inclusive_scan_update",
      "invoke_one",
      "invoke_one_broadcast",
      "labeled_partition",
      "match_all",
      "match_any",
      "memcpy_async",
      "reduce",
      "shfl",
      "shfl_down",
      "shfl_up",
      "shfl_xor",
      "sync",
      "tiled_partition",
      "wait",
  };
  static_assert(std::is_sorted(names.begin(), names.end()) &&
                std::is_sorted(of_groups.begin(), of_groups.end()));
  return std::binary_search(names.begin(), names.end(), name) ||
         (groups && std::binary_search(of_groups.begin(), of_groups.end(), name));
}

}  // namespace weir::compile
