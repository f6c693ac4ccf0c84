// SPDX-License-Identifier: Apache-2.0
// weir/detail/export.hpp - visibility of the shared library's symbols.
#pragma once

/// Exports a symbol from the shared library. Symbols without it are hidden.
#define WEIR_EXPORT __attribute__((visibility("default")))
