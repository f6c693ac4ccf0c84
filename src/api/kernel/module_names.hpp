// SPDX-License-Identifier: Apache-2.0
// api/kernel/module_names.hpp - relates names in the source to linker names (mangled names).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weir::detail {

// Returns true if the source name refers to the kernel with this linker name. Examples: "scale" and
// "scale<float>" for "void scale<float>(float*, float)"; "ns::fill" for "ns::fill(int*)". Ignores
// spaces.
[[nodiscard]] bool matches_source_name(std::string_view source_name,
                                       const std::string& linker_name);

// Returns the demangled name, with the parameter types if the linker name has them.
[[nodiscard]] std::string demangled(const std::string& linker_name);

// Returns the linker names that the source name refers to.
[[nodiscard]] std::vector<std::string> find_matching_names(std::string_view source_name,
                                                           const std::vector<std::string>& all);

}  // namespace weir::detail
