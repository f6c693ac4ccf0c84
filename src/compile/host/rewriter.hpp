// SPDX-License-Identifier: Apache-2.0
// compile/host/rewriter.hpp - from a preprocessed source to one that a C++ compiler takes, with the
// module's table behind it.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "compile/host/scanner.hpp"

namespace weir::compile {

struct rewrite_options {
  bool clang = false;
  std::vector<std::string> name_expressions;
  bool table = true;    // the module's table follows
  bool fission = true;  // kernels with barriers become loops where that is certain to be right
  std::set<std::string>
      not_blocks;  // those of these names do not; the compiler's messages name them as their files
};

struct rewritten {
  std::string text;
  // For each name expression, which entry of the section weir_names is its name.
  std::vector<unsigned> expressions;
  bool has_blocks = false;        // something became loops
  std::vector<unsigned> kernels;  // the same of the table's kernels, in order
};

// Lines stay where they are. `source` is the text that `list` was made of.
[[nodiscard]] rewritten rewrite(std::string_view source, const token_list& list,
                                const scan_result& found, const rewrite_options& options);

}  // namespace weir::compile
