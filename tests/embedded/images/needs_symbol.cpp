// SPDX-License-Identifier: Apache-2.0
// needs_symbol.cpp - a module with an undefined symbol that no process provides.
#include "driver/abi/module_abi.h"

extern "C" void weir_test_undefined_function();

namespace {

void call(const weir_block*, const void* const*, unsigned, unsigned) {
  weir_test_undefined_function();
}
constexpr weir_kernel kernels[] = {
    {"call", call, nullptr, 0, 0, 1024, 0, {0, 0, 0}, 0, 0, nullptr}};

}  // namespace

extern "C" __attribute__((visibility("default"))) const weir_module_table weir_module = {
    weir_module_version, 1, 0, 0, kernels, nullptr, nullptr, "", ""};
