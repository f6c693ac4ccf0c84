// SPDX-License-Identifier: Apache-2.0
// embedded/entry/context/context_settings.cpp - cuCtx*: flags, limits, cache preference, priorities
// and peers of the current context.
#include "embedded/entry/context/context_flags.hpp"
#include "embedded/entry/entry.hpp"
#include "embedded/entry/guard.hpp"
#include "embedded/model/capture/capture.hpp"

namespace weir::embedded::entry {

namespace {

// Calls body(context) with the context that has the settings of the current context: the primary
// context if the current context is green.
template <class Body>
CUresult with_settings_context(Body&& body) noexcept {
  return guarded_outside_host_functions(
      with_current_context([&](model::context& context) { return body(context.base()); }));
}

}  // namespace

// Also works for a destroyed context.
CUresult cuCtxGetFlags(unsigned* flags) {
  return guarded_outside_host_functions([&] {
    if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
    model::context* const context = model::this_thread().current();
    if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    *flags = context->base().flags.load(std::memory_order_relaxed);
    return CUDA_SUCCESS;
  });
}

// CU_CTX_MAP_HOST and the flags for core dumps are fixed when a context is created and stay
// unchanged.
CUresult cuCtxSetFlags(unsigned flags) {
  return with_settings_context([&](model::context& context) {
    if (!valid_context_flags(flags, CU_CTX_MAP_HOST)) return CUDA_ERROR_INVALID_VALUE;
    constexpr unsigned fixed =
        CU_CTX_MAP_HOST | CU_CTX_COREDUMP_ENABLE | CU_CTX_USER_COREDUMP_ENABLE;
    const unsigned fixed_flags = context.flags.load(std::memory_order_relaxed) & fixed;
    context.flags.store((flags & ~fixed) | fixed_flags, std::memory_order_relaxed);
    if (context.primary()) context.owner().update_primary_flags(flags);
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxGetLimit(size_t* value, CUlimit limit) {
  return with_settings_context([&](model::context& context) {
    return value != nullptr ? context.limits.get(limit, *value) : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuCtxSetLimit(CUlimit limit, size_t value) {
  return with_settings_context([&](model::context& context) {
    if (const CUresult error = model::check_unsafe_call()) return error;
    if (const CUresult error = context.limits.check(limit, value)) return error;
    return context.limits.set(limit, value);
  });
}

CUresult cuCtxGetCacheConfig(CUfunc_cache* config) {
  return with_settings_context([&](model::context& context) {
    return store(config, context.cache_config.load(std::memory_order_relaxed));
  });
}

CUresult cuCtxSetCacheConfig(CUfunc_cache config) {
  return with_settings_context([&](model::context& context) {
    if (const CUresult error = model::check_unsafe_call()) return error;
    if (config > CU_FUNC_CACHE_PREFER_EQUAL) return CUDA_ERROR_INVALID_VALUE;
    context.cache_config.store(config, std::memory_order_relaxed);
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  return with_settings_context([&](model::context&) {
    if (least != nullptr) *least = model::lowest_priority;
    if (greatest != nullptr) *greatest = model::highest_priority;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned flags) {
  return guarded_outside_host_functions(with_current_context([&](model::context& context) {
    model::context* const found = model::this_process().contexts.find(peer);
    if (found == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
    if (const CUresult error = found->status()) return error;
    if (&found->owner() == &context.owner()) return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
    if (const CUresult error = model::check_unsafe_call()) return error;
    return context.enable_peer(*found);
  }));
}

CUresult cuCtxDisablePeerAccess(CUcontext peer) {
  return guarded_in_context_outside_captures([&](model::context& context) {
    model::context* const found = model::this_process().contexts.find(peer);
    return found != nullptr ? context.disable_peer(*found) : CUDA_ERROR_INVALID_CONTEXT;
  });
}

}  // namespace weir::embedded::entry
