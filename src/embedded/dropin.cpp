// SPDX-License-Identifier: Apache-2.0
// embedded/dropin.cpp - libcuda.so.1 without a GPU: exports the embedded driver under the CUDA
// driver API's names.
#include "driver/dropin_identity.hpp"
#include "driver/requested_failure.hpp"
#include "embedded/entry/entries.hpp"
#include "embedded/entry/proc_table.hpp"
#include "embedded/services.hpp"

#include <cstdio>

using namespace weir::abi;
namespace entry = weir::embedded::entry;

#define WEIR_SHOWN extern "C" __attribute__((visibility("default")))

// The name of a function's per-thread variant, chosen by the last word of its line in the lists.
#define WEIR_NAME_ptsz(symbol) symbol##_ptsz
#define WEIR_NAME_ptds(symbol) symbol##_ptds

// The functions that weir implements.
#define WEIR_PLAIN(symbol, parameters, arguments)                                          \
  WEIR_SHOWN CUresult symbol parameters {                                                  \
    if (const CUresult failure = weir::detail::requested_failure(#symbol)) return failure; \
    return entry::entries.symbol arguments;                                                \
  }
#define WEIR_VARIANT(name, symbol, parameters, arguments)                                  \
  WEIR_SHOWN CUresult name parameters {                                                    \
    if (const CUresult failure = weir::detail::requested_failure(#symbol)) return failure; \
    return entry::per_thread<entry::entries.symbol>::call arguments;                       \
  }
#define WEIR_VARIANT_none(symbol, parameters, arguments)
#define WEIR_VARIANT_ptsz(symbol, parameters, arguments) \
  WEIR_VARIANT(WEIR_NAME_ptsz(symbol), symbol, parameters, arguments)
#define WEIR_VARIANT_ptds(symbol, parameters, arguments) \
  WEIR_VARIANT(WEIR_NAME_ptds(symbol), symbol, parameters, arguments)

#define WEIR_FUNCTION(symbol, base, version, variant, parameters, arguments) \
  WEIR_PLAIN(symbol, parameters, arguments)                                  \
  WEIR_VARIANT_##variant(symbol, parameters, arguments)
#include "driver/functions.def"
#undef WEIR_FUNCTION

// The functions that weir does not implement. They are declared without parameters, which is safe
// because the caller removes the arguments from the stack.
#define WEIR_REFUSED(name) \
  WEIR_SHOWN CUresult name() { return CUDA_ERROR_NOT_SUPPORTED; }
#define WEIR_REFUSED_none(symbol)
#define WEIR_REFUSED_ptsz(symbol) WEIR_REFUSED(WEIR_NAME_ptsz(symbol))
#define WEIR_REFUSED_ptds(symbol) WEIR_REFUSED(WEIR_NAME_ptds(symbol))

#define WEIR_UNSUPPORTED(symbol, base, version, variant) \
  WEIR_REFUSED(symbol) WEIR_REFUSED_##variant(symbol)
#include "embedded/entry/unsupported.def"
#undef WEIR_UNSUPPORTED

namespace {

#define WEIR_ADDRESS(name) reinterpret_cast<const void*>(&name)
#define WEIR_ADDRESS_none(symbol) WEIR_ADDRESS(symbol)
#define WEIR_ADDRESS_ptsz(symbol) WEIR_ADDRESS(WEIR_NAME_ptsz(symbol))
#define WEIR_ADDRESS_ptds(symbol) WEIR_ADDRESS(WEIR_NAME_ptds(symbol))
#define WEIR_PROC(symbol, base, version, variant) \
  {#base, version, WEIR_ADDRESS(symbol), WEIR_ADDRESS_##variant(symbol)},

const weir::detail::dropin_identity identity{
    WEIR_VERSION_STRING, sizeof(weir::detail::engine_services), &weir::embedded::services};

const entry::proc exported_procs[] = {
    {weir::detail::dropin_identity_name, 0, &identity, &identity},
#define WEIR_FUNCTION(symbol, base, version, variant, parameters, arguments) \
  WEIR_PROC(symbol, base, version, variant)
#include "driver/functions.def"
#undef WEIR_FUNCTION
#define WEIR_UNSUPPORTED WEIR_PROC
#include "embedded/entry/unsupported.def"
#undef WEIR_UNSUPPORTED
};

// Runs before any lookup, because the constructors of a library run before dlopen() returns or
// main() begins.
[[gnu::constructor]] void publish() {
  entry::publish_procs(exported_procs);
  if (!weir::detail::read_requested_failure())
    std::fputs("weir: WEIR_FAIL_CALL is not a number of a call, counted from 1; it is ignored\n",
               stderr);
}

}  // namespace
