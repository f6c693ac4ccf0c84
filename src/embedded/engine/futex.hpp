// engine/futex.hpp - sleeping on a word, for the engine's threads.
#pragma once

#include "os/futex.hpp"

namespace weir::embedded::engine {

using detail::futex_wait;
using detail::futex_wait_for;
using detail::futex_wake;

}  // namespace weir::embedded::engine
