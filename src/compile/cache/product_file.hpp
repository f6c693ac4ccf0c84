// SPDX-License-Identifier: Apache-2.0
// compile/cache/product_file.hpp - a product as the text of a file, which tells whether it is
// whole.
#pragma once

#include "compile/request.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace weir::compile {

// With the key under which it is kept.
[[nodiscard]] std::string text_of(const product& what, std::string_view key);

// None if it is not exactly what text_of() gave for that key.
[[nodiscard]] std::optional<product> product_from(std::string_view text, std::string_view key);

}  // namespace weir::compile
