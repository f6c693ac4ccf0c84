// SPDX-License-Identifier: Apache-2.0
// sequences/calls/device.cpp - devices and their primary context.
#include "sequences/actions.hpp"

namespace weir::sequences {
namespace {

int any_ordinal(world& w) { return w.d.one_of({0, 0, 0, 0, -1, 64, 1 << 30}); }

void get_device_by_ordinal(world& w) {
  const int ordinal = any_ordinal(w);
  CUdevice device = -2;
  const CUresult r = w.driver().cuDeviceGet(w.d.one_in(8) ? nullptr : &device, ordinal);
  w.text.call(r, fmt::format("cuDeviceGet({})", ordinal), fmt::format("{}", device));
}

// Records only whether the attribute exists; its value depends on the device.
void attribute(world& w) {
  const auto which = static_cast<CUdevice_attribute>(
      w.d.one_of({-1, 0, 1, 40, 41, 75, 87, 89, 110, 115, 119, 121, 148, 1000}));
  const CUdevice device = any_ordinal(w);
  int value = 0;
  const CUresult r =
      w.driver().cuDeviceGetAttribute(w.d.one_in(16) ? nullptr : &value, which, device);
  w.text.call(r, fmt::format("cuDeviceGetAttribute({}, {})", static_cast<int>(which), device));
}

void peers(world& w) {
  const CUdevice device = any_ordinal(w), peer = any_ordinal(w);
  int can = 99;
  const CUresult r =
      w.driver().cuDeviceCanAccessPeer(w.d.one_in(16) ? nullptr : &can, device, peer);
  w.text.call(r, fmt::format("cuDeviceCanAccessPeer({}, {})", device, peer),
              fmt::format("{}", can));
}

void peer_attribute(world& w) {
  const CUdevice device = any_ordinal(w), peer = any_ordinal(w);
  const auto which = static_cast<CUdevice_P2PAttribute>(w.d.one_of({0u, 1u, 2u, 3u, 4u, 99u}));
  int value = 99;
  const CUresult r = w.driver().cuDeviceGetP2PAttribute(&value, which, device, peer);
  w.text.call(r, fmt::format("cuDeviceGetP2PAttribute({}, {}, {})", static_cast<unsigned>(which),
                             device, peer));
}

void primary_state(world& w) {
  const CUdevice device = any_ordinal(w);
  unsigned flags = 0;
  int active = 99;
  const bool no_flags = w.d.one_in(8), no_active = w.d.one_in(8);
  const CUresult r = w.driver().cuDevicePrimaryCtxGetState(device, no_flags ? nullptr : &flags,
                                                           no_active ? nullptr : &active);
  w.text.call(r,
              fmt::format("cuDevicePrimaryCtxGetState({}{}{})", device,
                          no_flags ? ", no flags" : "", no_active ? ", no active" : ""),
              fmt::format("{}", active));
}

void primary_flags(world& w) {
  const CUdevice device = any_ordinal(w);
  const unsigned flags = w.d.one_of({0u, 1u, 2u, 4u, 8u, 3u, 7u, 0x100u, 0x80000000u});
  const CUresult r = w.driver().cuDevicePrimaryCtxSetFlags_v2(device, flags);
  w.text.call(r, fmt::format("cuDevicePrimaryCtxSetFlags({}, {:#x})", device, flags));
}

void retain_and_release(world& w) {
  const CUdevice device = any_ordinal(w);
  CUcontext context = nullptr;
  const CUresult r =
      w.driver().cuDevicePrimaryCtxRetain(w.d.one_in(16) ? nullptr : &context, device);
  w.text.call(r, fmt::format("cuDevicePrimaryCtxRetain({})", device), name_of(w, context));
  if (r == CUDA_SUCCESS || device != w.p.device)
    w.text.call(w.driver().cuDevicePrimaryCtxRelease_v2(device),
                fmt::format("cuDevicePrimaryCtxRelease({})", device));
}

void names(world& w) {
  const CUdevice device = any_ordinal(w);
  char text[256] = {};
  const int length = w.d.one_of({256, 64, 5, 1});
  w.text.call(w.driver().cuDeviceGetName(text, length, device),
              fmt::format("cuDeviceGetName({}, {})", length, device));
  std::size_t bytes = 0;
  w.text.call(w.driver().cuDeviceTotalMem_v2(w.d.one_in(8) ? nullptr : &bytes, device),
              fmt::format("cuDeviceTotalMem({})", device));
}

void affinity(world& w) {
  const CUdevice device = any_ordinal(w);
  const auto type = static_cast<CUexecAffinityType>(w.d.one_of({0u, 0u, 1u, 99u}));
  int value = 99;
  const CUresult r =
      w.driver().cuDeviceGetExecAffinitySupport(w.d.one_in(8) ? nullptr : &value, type, device);
  w.text.call(r, fmt::format("cuDeviceGetExecAffinitySupport({}, {})", static_cast<unsigned>(type),
                             device));
}

}  // namespace

std::span<const action> device_actions() {
  static constexpr action all[] = {
      {1, get_device_by_ordinal}, {1, attribute},     {1, peers},
      {1, peer_attribute},        {1, primary_state}, {1, primary_flags},
      {1, retain_and_release},    {1, names},         {1, affinity},
  };
  return all;
}

}  // namespace weir::sequences
