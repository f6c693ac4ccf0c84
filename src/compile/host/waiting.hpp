// SPDX-License-Identifier: Apache-2.0
// compile/host/waiting.hpp - the functions of the device's headers in which a thread may wait for
// others.
#pragma once

#include <string_view>

namespace weir::compile {

// `groups`: the source includes cooperative groups, whose functions have everyday names.
[[nodiscard]] bool waits_by_itself(std::string_view name, bool groups) noexcept;

}  // namespace weir::compile
