// api/kernel/module_names.hpp - names in the source, and the linker's.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weir::detail {

// Is that what the source calls the kernel of this linker's name? "scale" and "scale<float>" of
// "void scale<float>(float*, float)"; "ns::fill" of "ns::fill(int*)". Spaces make no difference.
[[nodiscard]] bool matches_source_name(std::string_view source_name,
                                       const std::string& linker_name);

// As people read it: with types, where the linker's name has them.
[[nodiscard]] std::string demangled(const std::string& linker_name);

// The linker's names that the source calls so.
[[nodiscard]] std::vector<std::string> find_matching_names(std::string_view source_name,
                                                           const std::vector<std::string>& all);

}  // namespace weir::detail
