// engine/spin_lock.hpp - the lock of the engine's short sections.
#pragma once

#include "os/spin_lock.hpp"

namespace weir::embedded::engine {

using detail::pause;
using detail::spin_lock;

}  // namespace weir::embedded::engine
