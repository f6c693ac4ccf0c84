// model/late_unmap.hpp - giving addresses back that work under way may still touch.
#pragma once

#include <cstddef>

namespace weir::embedded::model {

// Unmaps whole pages once everything is complete that any stream has been given so far: at once where that is so already,
// otherwise later, without a wait. Until then nobody else gets the addresses, and they can be touched as they are.
// Thread safety: from any thread.
void unmap_after_work(void* at, std::size_t bytes) noexcept;

}  // namespace weir::embedded::model
