// SPDX-License-Identifier: Apache-2.0
// compile/host/token.hpp - the user's tokens of a preprocessed source, with the file and line that
// each comes from.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace weir::compile {

enum class token_kind : unsigned char { identifier, number, text, symbol, pragma };

struct token {
  token_kind kind;
  std::string_view text;  // in the preprocessed source; a pragma's is its whole line
  std::size_t offset;     // of text in it
  unsigned line;          // in `file`, counted from 1
  unsigned file;          // in token_list::files

  [[nodiscard]] bool is(std::string_view what) const noexcept { return text == what; }
  [[nodiscard]] bool identifier() const noexcept { return kind == token_kind::identifier; }
  [[nodiscard]] std::size_t end() const noexcept { return offset + text.size(); }
};

// Tokens of headers that the compiler calls a system's (a 3 in their first line marker) are left
// out, the device's own among them. Symbols are one character each, but for :: -> and those that
// end or begin with =, && and ||; << and >> are two.
struct token_list {
  std::vector<token> tokens;
  std::vector<std::string> files;
};

// `source` is what a compiler's -E gives, and has to outlive the answer.
[[nodiscard]] token_list tokens_of(std::string_view source);

}  // namespace weir::compile
