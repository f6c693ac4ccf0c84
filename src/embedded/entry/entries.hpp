// SPDX-License-Identifier: Apache-2.0
// embedded/entry/entries.hpp - the embedded driver's functions as a constant table without null
// entries.
#pragma once

#include "driver/table.hpp"
#include "embedded/entry/default_stream.hpp"
#include "embedded/entry/entry.hpp"

namespace weir::embedded::entry {

// A constant expression, so that the compiler turns a call through the table into a direct call.
inline constexpr detail::driver_table entries = [] {
  detail::driver_table table;
#define WEIR_FUNCTION(symbol, base, version, variant, parameters, arguments) \
  table.symbol = &entry::symbol;
#include "driver/functions.def"
#undef WEIR_FUNCTION
  return table;
}();

// The per-thread variant of a function. call() calls the plain entry point, in which a null stream
// then means the calling thread's own default stream.
template <auto Plain, class Function = decltype(Plain)>
struct per_thread;

template <auto Plain, class... Arguments>
struct per_thread<Plain, CUresult (*)(Arguments...)> {
  static CUresult call(Arguments... arguments) {
    const per_thread_default_scope scope;
    return Plain(arguments...);
  }
};

}  // namespace weir::embedded::entry
