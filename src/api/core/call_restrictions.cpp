// api/core/call_restrictions.cpp - the marks of threads that run functions of the program's.
#include "api/core/call_restrictions.hpp"

#include <weir/stream/host_function.hpp>

namespace weir {
namespace detail {

thread_local constinit bool inside_host_function = false;
thread_local constinit bool inside_user_destructor = false;

}  // namespace detail

bool in_host_function() noexcept { return detail::inside_host_function; }

}  // namespace weir
