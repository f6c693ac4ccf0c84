// stranger.cpp - a shared object that is no module, and does something when it is loaded.
#include <cstdlib>

namespace {

[[maybe_unused]] const int ran = setenv("WEIR_TEST_STRANGER_RAN", "1", 1);

}  // namespace
