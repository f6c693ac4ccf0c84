// needs_symbol.cpp - a module that wants a function that no process has.
#include "embedded/kernel/image/module_abi.h"

extern "C" void weir_test_function_of_nobody();

namespace {

void call(const weir_block*, const void* const*, unsigned, unsigned) {
  weir_test_function_of_nobody();
}
constexpr weir_kernel kernels[] = {
    {"call", call, nullptr, 0, 0, 1024, 0, {0, 0, 0}, 0, 0, nullptr}};

}  // namespace

extern "C" __attribute__((visibility("default"))) const weir_module_table weir_module = {
    weir_module_version, 1, 0, 0, kernels, nullptr, nullptr, "", ""};
