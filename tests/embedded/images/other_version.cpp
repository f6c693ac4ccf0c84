// other_version.cpp - a module that a later compiler made.
#include "embedded/kernel/image/module_abi.h"

extern "C" __attribute__((visibility("default"))) const weir_module_table weir_module = {
    weir_module_version + 1, 0, 0, 0, nullptr, nullptr, nullptr, "", ""};
