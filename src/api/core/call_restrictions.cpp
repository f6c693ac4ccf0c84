// SPDX-License-Identifier: Apache-2.0
// api/core/call_restrictions.cpp - the thread-local flags of threads that run functions of the
// program.
#include "api/core/call_restrictions.hpp"

#include <weir/stream/host_function.hpp>

namespace weir {
namespace detail {

thread_local constinit bool inside_host_function = false;
thread_local constinit bool inside_user_destructor = false;

}  // namespace detail

bool in_host_function() noexcept { return detail::inside_host_function; }

}  // namespace weir
