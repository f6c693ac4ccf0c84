// SPDX-License-Identifier: Apache-2.0
// weir/detail/export.hpp - visibility of the shared library's symbols.
#pragma once

/// Marks a symbol as exported. All others are hidden.
#define WEIR_EXPORT __attribute__((visibility("default")))
