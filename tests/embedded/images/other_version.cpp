// SPDX-License-Identifier: Apache-2.0
// other_version.cpp - a module of a later compiler version.
#include "driver/abi/module_abi.h"

extern "C" __attribute__((visibility("default"))) const weir_module_table weir_module = {
    weir_module_version + 1, 0, 0, 0, nullptr, nullptr, nullptr, "", ""};
