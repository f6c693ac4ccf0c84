// SPDX-License-Identifier: Apache-2.0
// weir/version.hpp - the version of weir.
#pragma once

#define WEIR_VERSION_MAJOR 0
#define WEIR_VERSION_MINOR 1
#define WEIR_VERSION_PATCH 0

/// The version as one number for preprocessor comparisons: 1.2.3 is 10203.
#define WEIR_VERSION (WEIR_VERSION_MAJOR * 10000 + WEIR_VERSION_MINOR * 100 + WEIR_VERSION_PATCH)
#define WEIR_VERSION_STRING "0.1.0"
