// SPDX-License-Identifier: Apache-2.0
// sequences/calls/managed.cpp - managed memory: allocated, prefetched, advised, attached.
#include "sequences/actions.hpp"
#include "sequences/block_contents.hpp"

namespace weir::sequences {
namespace {

block* managed_block(world& w) {
  for (block& one : w.blocks) {
    if (one.live && one.kind == memory::managed) return &one;
  }
  return any_block(w);
}

// At most two blocks: each is a separate page.
void allocate_managed(world& w) {
  const std::size_t size = w.d.one_of<std::size_t>({64, 4096, 5000, 65536, 0});
  const unsigned flags = w.d.one_of({1u, 1u, 1u, 2u, 0u, 3u, 4u, 8u});
  unsigned there = 0;
  for (const block& one : w.blocks) there += one.live && one.kind == memory::managed ? 1 : 0;
  if (there >= 2 || is_full(w)) return;
  CUdeviceptr made = 0;
  const CUresult r = w.driver().cuMemAllocManaged(w.d.one_in(32) ? nullptr : &made, size, flags);
  w.text.call(r, fmt::format("cuMemAllocManaged({}, {})", size, flags),
              r == CUDA_SUCCESS
                  ? add_block(w, {.kind = memory::managed, .address = made, .size = size})
                  : "");
}

std::size_t any_length(world& w, const block& in) {
  return w.d.one_of<std::size_t>(
      {in.size, in.size, in.size, in.size / 2, 0, 1, in.size + 1, std::size_t{1} << 30});
}

CUmemLocation any_managed_location(world& w) {
  return {.type = static_cast<CUmemLocationType>(w.d.one_of({1u, 1u, 1u, 2u, 2u, 0u, 99u})),
          .id = w.d.one_of({0, 0, 0, 0, -1, 64})};
}

void prefetch(world& w) {
  block* const in = managed_block(w);
  if (in == nullptr) return;
  const std::size_t length = any_length(w, *in);
  const chosen_stream s = any_stream(w);
  order_after_last_use(w, *in, s);
  if (w.d.below(2) == 0) {
    const CUdevice device = w.d.one_of({0, 0, 0, -1, -2, 64});
    const CUresult r = w.driver().cuMemPrefetchAsync(in->address, length, device, s.handle);
    w.text.call(
        r, fmt::format("cuMemPrefetchAsync({}, {}, {}, {})", in->name, length, device, s.name));
  } else {
    const CUmemLocation to = any_managed_location(w);
    const unsigned flags = w.d.one_of({0u, 0u, 0u, 0u, 1u});
    const CUresult r = w.driver().cuMemPrefetchAsync_v2(in->address, length, to, flags, s.handle);
    w.text.call(r, fmt::format("cuMemPrefetchAsync_v2({}, {}, {} {}, {}, {})", in->name, length,
                               static_cast<unsigned>(to.type), to.id, flags, s.name));
  }
  record_use(w, *in, s);
}

void advise(world& w) {
  block* const in = managed_block(w);
  if (in == nullptr) return;
  const std::size_t length = any_length(w, *in);
  const auto advice = static_cast<CUmem_advise>(w.d.one_of({1u, 2u, 3u, 4u, 5u, 6u, 0u, 7u, 99u}));
  sync_all(w);
  if (w.d.below(2) == 0) {
    const CUdevice device = w.d.one_of({0, 0, 0, -1, -2, 64});
    const CUresult r = w.driver().cuMemAdvise(in->address, length, advice, device);
    return w.text.call(r, fmt::format("cuMemAdvise({}, {}, {}, {})", in->name, length,
                                      static_cast<unsigned>(advice), device));
  }
  const CUmemLocation to = any_managed_location(w);
  const CUresult r = w.driver().cuMemAdvise_v2(in->address, length, advice, to);
  w.text.call(r, fmt::format("cuMemAdvise_v2({}, {}, {}, {} {})", in->name, length,
                             static_cast<unsigned>(advice), static_cast<unsigned>(to.type), to.id));
}

// Never with flags 0: the driver crashes (stream.attach_managed.flags0).
void attach(world& w) {
  block* const in = managed_block(w);
  if (in == nullptr) return;
  const chosen_stream s = any_stream(w);
  const std::size_t length = w.d.one_of<std::size_t>({0, 0, in->size, in->size / 2});
  const unsigned flags = w.d.one_of({1u, 1u, 2u, 3u, 8u});
  sync_all(w);
  const CUresult r = w.driver().cuStreamAttachMemAsync(s.handle, in->address, length, flags);
  w.text.call(
      r, fmt::format("cuStreamAttachMemAsync({}, {}, {}, {})", s.name, in->name, length, flags));
  sync_all(w);
}

}  // namespace

std::span<const action> managed_actions() {
  static constexpr action all[] = {{2, allocate_managed}, {2, prefetch}, {2, advise}, {1, attach}};
  return all;
}

}  // namespace weir::sequences
