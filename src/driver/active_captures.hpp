// driver/active_captures.hpp - is anything being captured?
#pragma once

#include <atomic>

namespace weir::detail {

// How many captures begun through weir are open. While there are any, what could break one is put
// off.
inline constinit std::atomic<int> active_capture_count{0};

}  // namespace weir::detail
