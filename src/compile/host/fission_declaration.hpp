// SPDX-License-Identifier: Apache-2.0
// compile/host/fission_declaration.hpp - a declaration of local variables, taken apart.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compile/host/fission_tokens.hpp"

namespace weir::compile {

struct declarator {
  std::size_t name;
  token_range extents;  // [..]
  token_range value;    // what stands behind the =; else the whole initializer
  std::string pointers;
  bool assigned = false, initialized = false, reference = false;

  [[nodiscard]] bool is_array() const noexcept { return extents.begin != extents.end; }
};

struct declaration_text {
  std::string base;  // the specifiers, without static and constexpr
  std::string type;  // the last name in them
  bool constant = false, is_constexpr = false, is_static = false, is_auto = false;
  bool is_arithmetic = false;
  std::vector<declarator> declarators;

  // A number or a pointer for certain.
  [[nodiscard]] bool plain(const declarator& d) const noexcept {
    return is_arithmetic || !d.pointers.empty();
  }
};

// Nothing of what is none, or not understood.
[[nodiscard]] std::optional<declaration_text> declaration_of(const body_tokens& t,
                                                             token_range statement);

}  // namespace weir::compile
