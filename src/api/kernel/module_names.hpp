// api/kernel/module_names.hpp - names in the source, and the linker's.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weir::detail {

// Is that what the source calls the kernel of this linker's name? "scale" and "scale<float>" of
// "void scale<float>(float*, float)"; "ns::fill" of "ns::fill(int*)". Spaces make no difference.
[[nodiscard]] bool is_name_of(std::string_view source_name, const std::string& linker_name);

// As people read it: with types, where the linker's name has them.
[[nodiscard]] std::string readable(const std::string& linker_name);

// The linker's names that the source calls so.
[[nodiscard]] std::vector<std::string> named_so(std::string_view source_name, const std::vector<std::string>& all);

}  // namespace weir::detail
