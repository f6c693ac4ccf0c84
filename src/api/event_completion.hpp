// api/event_completion.hpp - events that end while somebody waits for them.
#pragma once

#include "driver/abi.hpp"

namespace weir::detail {

// Leaves an event of weir's that is about to be destroyed to the completion that asks it. False if there is none.
[[nodiscard]] bool leave_to_completion(abi::CUevent event) noexcept;

}  // namespace weir::detail
