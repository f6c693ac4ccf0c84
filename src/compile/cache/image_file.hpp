// SPDX-License-Identifier: Apache-2.0
// compile/cache/image_file.hpp - reads, and mends, what a linker made: an ELF file of this
// machine's class.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace weir::compile {

// The entries of the section weir_names: number and linker's name of a kernel or a variable.
[[nodiscard]] std::map<unsigned, std::string> names_of(const std::vector<std::byte>& image);

// Writes the bytes of static shared memory of each kernel into the table of an image. `kernels` are
// linker's names, in the table's order. A kernel's variables are those that its own name is part
// of.
void write_shared_sizes(std::vector<std::byte>& image, const std::vector<std::string>& kernels);

}  // namespace weir::compile
