// weir/detail/export.hpp - what the shared library shows to the linker.
#pragma once

// Everything in weir is hidden unless it is marked with this.
#define WEIR_EXPORT __attribute__((visibility("default")))
