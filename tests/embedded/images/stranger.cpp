// SPDX-License-Identifier: Apache-2.0
// stranger.cpp - a shared object that is not a module, with a side effect when it is loaded.
#include <cstdlib>

namespace {

[[maybe_unused]] const int ran = setenv("WEIR_TEST_STRANGER_RAN", "1", 1);

}  // namespace
