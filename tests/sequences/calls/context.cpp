// SPDX-License-Identifier: Apache-2.0
// sequences/calls/context.cpp - the contexts of a thread, and attributes of contexts.
#include "sequences/actions.hpp"

namespace weir::sequences {
namespace {

void push(world& w) {
  const CUcontext context = any_context(w);
  w.text.call(w.driver().cuCtxPushCurrent_v2(context),
              fmt::format("cuCtxPushCurrent({})", name_of(w, context)));
}

void pop(world& w) {
  CUcontext context = nullptr;
  const bool nowhere = w.d.one_in(8);
  const CUresult r = w.driver().cuCtxPopCurrent_v2(nowhere ? nullptr : &context);
  w.text.call(r, fmt::format("cuCtxPopCurrent({})", nowhere ? "null" : ""), name_of(w, context));
}

void set_current(world& w) {
  const CUcontext context = any_context(w);
  w.text.call(w.driver().cuCtxSetCurrent(context),
              fmt::format("cuCtxSetCurrent({})", name_of(w, context)));
}

void get_current(world& w) {
  CUcontext context = nullptr;
  const CUresult r = w.driver().cuCtxGetCurrent(w.d.one_in(16) ? nullptr : &context);
  w.text.call(r, "cuCtxGetCurrent()", name_of(w, context));
}

void get_context_device(world& w) {
  CUdevice device = -1;
  if (w.d.below(2) == 0) {
    const CUresult r = w.driver().cuCtxGetDevice(w.d.one_in(16) ? nullptr : &device);
    return w.text.call(r, "cuCtxGetDevice()", fmt::format("{}", device));
  }
  const CUcontext context = any_context(w);
  const CUresult r = w.driver().cuCtxGetDevice_v2(w.d.one_in(16) ? nullptr : &device, context);
  w.text.call(r, fmt::format("cuCtxGetDevice_v2({})", name_of(w, context)),
              fmt::format("{}", device));
}

void flags(world& w) {
  if (w.d.below(2) == 0) {
    const unsigned value = w.d.one_of({0u, 1u, 2u, 4u, 8u, 12u, 3u, 5u, 0x100u, 0x80000000u});
    w.text.call(w.driver().cuCtxSetFlags(value), fmt::format("cuCtxSetFlags({:#x})", value));
  }
  unsigned now = 99;
  const CUresult r = w.driver().cuCtxGetFlags(w.d.one_in(16) ? nullptr : &now);
  // Instantiating a graph may set the flag for resizing local memory.
  constexpr unsigned resize_local_memory = 0x10;
  w.text.call(r, "cuCtxGetFlags()", fmt::format("{:#x}", now & ~resize_local_memory));
}

void get_context_id(world& w) {
  const CUcontext context = any_context(w);
  unsigned long long id = 0;
  const CUresult r = w.driver().cuCtxGetId(context, w.d.one_in(16) ? nullptr : &id);
  w.text.call(r, fmt::format("cuCtxGetId({})", name_of(w, context)), id != 0 ? "id" : "0");
}

void get_version(world& w) {
  const CUcontext context = any_context(w);
  unsigned version = 0;
  const CUresult r = w.driver().cuCtxGetApiVersion(context, w.d.one_in(16) ? nullptr : &version);
  w.text.call(r, fmt::format("cuCtxGetApiVersion({})", name_of(w, context)),
              fmt::format("{}", version));
}

void synchronize_context(world& w) {
  if (w.d.below(2) == 0) return w.text.call(w.driver().cuCtxSynchronize(), "cuCtxSynchronize()");
  const CUcontext context = any_context(w);
  w.text.call(w.driver().cuCtxSynchronize_v2(context),
              fmt::format("cuCtxSynchronize_v2({})", name_of(w, context)));
}

void priority_range(world& w) {
  int least = 99, greatest = 99;
  const CUresult r =
      w.driver().cuCtxGetStreamPriorityRange(w.d.one_in(8) ? nullptr : &least, &greatest);
  w.text.call(r, "cuCtxGetStreamPriorityRange()", fmt::format("{} {}", least, greatest));
}

void record_in_context(world& w) {
  const CUcontext context = any_context(w);
  const chosen_event e = any_event(w);
  w.text.call(w.driver().cuCtxRecordEvent(context, e.handle),
              fmt::format("cuCtxRecordEvent({}, {})", name_of(w, context), e.name));
}

// A GPU's driver crashes on most events of another context.
void wait_in_context(world& w) {
  const CUcontext context = any_context(w);
  const chosen_event e = any_event(w);
  if (!w.wild() && e.number >= 0 && context != nullptr &&
      w.p.contexts[static_cast<std::size_t>(
          w.events[static_cast<std::size_t>(e.number)].context)] != context)
    return;
  w.text.call(w.driver().cuCtxWaitEvent(context, e.handle),
              fmt::format("cuCtxWaitEvent({}, {})", name_of(w, context), e.name));
}

void cache_config(world& w) {
  if (w.d.below(2) == 0) {
    const auto config = static_cast<CUfunc_cache>(w.d.one_of({0u, 1u, 2u, 3u, 4u, 99u}));
    w.text.call(w.driver().cuCtxSetCacheConfig(config),
                fmt::format("cuCtxSetCacheConfig({})", static_cast<unsigned>(config)));
  }
  auto now = static_cast<CUfunc_cache>(99);
  const CUresult r = w.driver().cuCtxGetCacheConfig(w.d.one_in(16) ? nullptr : &now);
  w.text.call(r, "cuCtxGetCacheConfig()", fmt::format("{}", static_cast<unsigned>(now)));
}

void shared_config(world& w) {
  if (w.d.below(2) == 0) {
    const auto config = static_cast<CUsharedconfig>(w.d.one_of({0u, 1u, 2u, 3u, 99u}));
    w.text.call(w.driver().cuCtxSetSharedMemConfig(config),
                fmt::format("cuCtxSetSharedMemConfig({})", static_cast<unsigned>(config)));
  }
  auto now = static_cast<CUsharedconfig>(99);
  const CUresult r = w.driver().cuCtxGetSharedMemConfig(w.d.one_in(16) ? nullptr : &now);
  w.text.call(r, "cuCtxGetSharedMemConfig()", fmt::format("{}", static_cast<unsigned>(now)));
}

void peer(world& w) {
  const CUcontext context = any_context(w);
  const unsigned flags = w.d.one_of({0u, 0u, 1u});
  if (w.d.below(2) == 0)
    w.text.call(w.driver().cuCtxEnablePeerAccess(context, flags),
                fmt::format("cuCtxEnablePeerAccess({}, {})", name_of(w, context), flags));
  else
    w.text.call(w.driver().cuCtxDisablePeerAccess(context),
                fmt::format("cuCtxDisablePeerAccess({})", name_of(w, context)));
}

// Reads and sets limits. Tame sequences do not set a limit that makes a GPU reallocate.
void limit(world& w) {
  const auto which =
      static_cast<CUlimit>(w.d.one_of({0u, 1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u, 9u, 10u, 11u, 99u}));
  std::size_t value = 0;
  const CUresult r = w.driver().cuCtxGetLimit(w.d.one_in(16) ? nullptr : &value, which);
  w.text.call(r, fmt::format("cuCtxGetLimit({})", static_cast<unsigned>(which)));
  if (!w.wild()) return;
  const std::size_t requested =
      w.d.one_of<std::size_t>({0, 1, 64, 100, 1024, 65536, std::size_t{1} << 40, ~std::size_t{0}});
  w.text.call(w.driver().cuCtxSetLimit(which, requested),
              fmt::format("cuCtxSetLimit({})", requested));
}

// These calls fail before anything is created: on a GPU, creating a context takes longer than the
// rest of a sequence.
void create_refused(world& w) {
  CUcontext made = nullptr;
  const unsigned flags = w.d.one_of({3u, 5u, 7u, 0x100u, 0x80000000u});
  const CUdevice device = w.d.one_of({0, 0, -1, 64});
  const CUresult r = w.driver().cuCtxCreate_v4(&made, nullptr, flags, device);
  w.text.call(r, fmt::format("cuCtxCreate_v4({:#x}, {})", flags, device));
  if (r == CUDA_SUCCESS) (void)w.driver().cuCtxDestroy_v2(made);
}

void reset_cache(world& w) {
  w.text.call(w.driver().cuCtxResetPersistingL2Cache(), "cuCtxResetPersistingL2Cache()");
}

}  // namespace

std::span<const action> context_actions() {
  static constexpr action all[] = {
      {4, push},
      {3, pop},
      {3, set_current},
      {3, get_current},
      {2, get_context_device},
      {2, flags},
      {1, get_context_id},
      {1, get_version},
      {3, synchronize_context},
      {1, priority_range},
      {2, record_in_context},
      {2, wait_in_context},
      {1, cache_config},
      {1, shared_config},
      {1, peer},
      {1, limit},
      {1, create_refused},
      {1, reset_cache},
  };
  return all;
}

}  // namespace weir::sequences
