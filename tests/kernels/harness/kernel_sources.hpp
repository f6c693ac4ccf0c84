// kernel_sources.hpp - the texts of sources/, which the program carries with it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weir::test {

[[nodiscard]] std::vector<std::string_view> kernel_source_names();

// Of sources/NAME.cu.
[[nodiscard]] std::string_view kernel_source(std::string_view name);

// Of the templates in it, the instances that tests take, as name expressions.
[[nodiscard]] std::vector<std::string> kernel_instances(std::string_view name);

}  // namespace weir::test
