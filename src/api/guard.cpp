// api/guard.cpp - the mark of a thread that runs a host function.
#include "api/guard.hpp"

#include <weir/host_function.hpp>

namespace weir {
namespace detail {

thread_local constinit bool inside_host_function = false;

}  // namespace detail

bool in_host_function() noexcept { return detail::inside_host_function; }

}  // namespace weir
