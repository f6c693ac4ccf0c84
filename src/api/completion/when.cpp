// api/completion/when.cpp - several completions as one wait: all of them, or the first.
#include <weir/completion/when.hpp>

#include "api/core/check.hpp"

namespace weir::detail {

void throw_if_when_any_is_empty(std::size_t completions, call_site at) {
  if (completions == 0)
    throw_error(errc::invalid_value, "weir::when_any", "",
                "there is no first one of no completions", at);
}

}  // namespace weir::detail
