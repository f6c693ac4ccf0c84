// SPDX-License-Identifier: Apache-2.0
// plugin.cpp - a library, not a module, whose constructor calls the program while the host's loader
// holds its lock.
#include <cstdio>
#include <cstdlib>

namespace {

__attribute__((constructor)) void call_the_program() {
  const char* const where = std::getenv("WEIR_TEST_PLUGIN_CALLS");
  void (*call)() = nullptr;
  if (where != nullptr && std::sscanf(where, "%p", reinterpret_cast<void**>(&call)) == 1) call();
}

}  // namespace
