// SPDX-License-Identifier: Apache-2.0
// compile/cache/included_files.hpp - the files that a source includes, as far as a cache has to
// know them.
#pragma once

#include "compile/request.hpp"

#include <string>
#include <vector>

namespace weir::compile {

struct included_file {
  std::string path;
  // How a compiler finds the file, without the folders of this machine: the number of the include
  // path and the name in the #include. Equal requests in different folders have equal labels.
  std::string label;
  std::string text;
};

struct included_files {
  std::vector<included_file> files;
  // Further labels of these files: "LABEL = LABEL". A compiler takes the first label with a file.
  std::vector<std::string> aliases;
  // Which files are included cannot be told without preprocessing: #include of a macro,
  // __has_include.
  bool is_complete = true;
};

// Every file of the include paths that source, headers, or such a file name in an #include, whether
// that is compiled or not: more than a compiler reads, never less. Files that are found elsewhere
// are the compiler's own, and belong to its identity. Those of the working directory are found as
// NVRTC finds them.
[[nodiscard]] included_files included_by(const request& what);

}  // namespace weir::compile
