// plugin.cpp - no module, but a library of a program whose constructor calls the program: the
// loader of the host has its lock meanwhile.
#include <cstdio>
#include <cstdlib>

namespace {

__attribute__((constructor)) void call_the_program() {
  const char* const where = std::getenv("WEIR_TEST_PLUGIN_CALLS");
  void (*call)() = nullptr;
  if (where != nullptr && std::sscanf(where, "%p", reinterpret_cast<void**>(&call)) == 1) call();
}

}  // namespace
