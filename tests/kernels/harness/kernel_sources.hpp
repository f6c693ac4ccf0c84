// SPDX-License-Identifier: Apache-2.0
// kernel_sources.hpp - the texts of sources/, embedded in the program.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weir::test {

[[nodiscard]] std::vector<std::string_view> kernel_source_names();

// Returns the text of sources/NAME.cu.
[[nodiscard]] std::string_view kernel_source(std::string_view name);

// Returns the instances of its templates that tests use, as name expressions.
[[nodiscard]] std::vector<std::string> kernel_instances(std::string_view name);

}  // namespace weir::test
