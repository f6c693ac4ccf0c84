// SPDX-License-Identifier: Apache-2.0
// probe/driver.hpp - the driver under test, loaded at run time, with each function under its own
// name.
#pragma once

#include "probe/names.hpp"

#include <string>

namespace weir::conformance {

// The version whose entry points the cases use.
constexpr int kCudaVersion = 13000;

template <class F>
struct Fn;

// A function of the library. If the library lacks it, calls return kMissing.
template <class... A>
struct Fn<CUresult(A...)> {
  CUresult (*p)(A...) = nullptr;
  CUresult operator()(A... a) const { return p ? p(a...) : kMissing; }
};

#define PROBE_FUNCTION(name, symbol, ...) extern Fn<CUresult(__VA_ARGS__)> name;
#include "probe/functions.def"
#undef PROBE_FUNCTION

// Returns the file named by WEIR_LIBCUDA, else libcuda.so.1.
std::string library_name();

// Opens the library and looks up every function, once in a process. Returns false, with the reason,
// if it cannot be opened.
bool load_library(std::string* why = nullptr);

// Returns a symbol that the library exports, or nullptr.
void* exported(const char* symbol);

// Returns a function of the given type under another exported name: the variants for the per-thread
// default stream.
template <class F>
F other_name(const F&, const char* symbol) {
  F f;
  f.p = reinterpret_cast<decltype(f.p)>(exported(symbol));
  return f;
}

}  // namespace weir::conformance
