// SPDX-License-Identifier: Apache-2.0
// sequences/calls/host_memory.cpp - pinned memory, and host memory of the program, registered or
// not.
#include "sequences/actions.hpp"
#include "sequences/block_contents.hpp"

namespace weir::sequences {
namespace {

void allocate_host_memory(world& w) {
  const std::size_t size = w.d.one_of<std::size_t>({1, 64, 100, 4096, 5000, 65536, 0});
  const unsigned flags = w.d.one_of({0u, 0u, 1u, 2u, 3u, 4u, 6u, 7u, 8u, 0x10u, 0x80000000u});
  if (is_full(w)) return;
  const bool plain = w.d.below(4) == 0, nowhere = w.d.one_in(32);
  void* made = nullptr;
  const CUresult r = plain ? w.driver().cuMemAllocHost_v2(nowhere ? nullptr : &made, size)
                           : w.driver().cuMemHostAlloc(nowhere ? nullptr : &made, size, flags);
  std::string name;
  if (made != nullptr)
    name = add_block(
        w, {.kind = memory::pinned, .address = reinterpret_cast<CUdeviceptr>(made), .size = size});
  w.text.call(r,
              plain ? fmt::format("cuMemAllocHost({})", size)
                    : fmt::format("cuMemHostAlloc({}, {:#x})", size, flags),
              name);
}

void release_host_memory(world& w) {
  block* const in = any_block(w);
  if (in == nullptr) return w.text.call(w.driver().cuMemFreeHost(nullptr), "cuMemFreeHost(null)");
  const CUdeviceptr address = in->address + (w.d.one_in(8) ? in->size / 2 : 0);
  sync_all(w);
  if (w.wild() && !can_free(w, *in)) return;
  const std::string name = where(w, address);
  const CUresult r = w.driver().cuMemFreeHost(reinterpret_cast<void*>(address));
  w.text.call(r, fmt::format("cuMemFreeHost({})", name));
  if (r == CUDA_SUCCESS) in->live = false;
}

void take_page(world& w) {
  const int page = static_cast<int>(w.d.below(process::page_count));
  const std::size_t size = w.d.one_of<std::size_t>({64, 1000, 4096, 8192, host_page::bytes});
  for (const block& one : w.blocks) {
    if (one.live && one.page == page) return;
  }
  if (is_full(w)) return;
  const auto address =
      reinterpret_cast<CUdeviceptr>(w.p.pages[static_cast<std::size_t>(page)].memory.get());
  w.text.note("host memory " +
              add_block(w, {.kind = memory::page, .address = address, .size = size, .page = page}));
}

void register_page(world& w) {
  block* const in = any_block(w);
  if (in == nullptr || in->page < 0) return take_page(w);
  const std::size_t offset = w.d.one_in(8) ? in->size / 2 : 0;
  const std::size_t size =
      w.d.one_of({in->size, in->size, in->size, in->size - offset, std::size_t{0}});
  const unsigned flags = w.d.one_of({0u, 0u, 1u, 2u, 3u, 8u, 0x10u, 0x80000000u});
  sync_all(w);
  const bool whole = offset == 0 && size == in->size;
  if (!whole && in->kind == memory::page && size != 0)
    return;  // a part of it would outlive the block
  void* const address = reinterpret_cast<void*>(in->address + offset);
  const CUresult r = w.driver().cuMemHostRegister_v2(address, size, flags);
  w.text.call(r, fmt::format("cuMemHostRegister({}, {}, {:#x})", where(w, in->address + offset),
                             size, flags));
  if (r != CUDA_SUCCESS) return;
  in->kind = memory::registered;
  in->read_only = (flags & CU_MEMHOSTREGISTER_READ_ONLY) != 0;
}

void unregister(world& w) {
  block* const in = any_block(w);
  if (in == nullptr)
    return w.text.call(w.driver().cuMemHostUnregister(nullptr), "cuMemHostUnregister(null)");
  const CUdeviceptr address = in->address + (w.d.one_in(8) ? in->size / 2 : 0);
  sync_all(w);
  const CUresult r = w.driver().cuMemHostUnregister(reinterpret_cast<void*>(address));
  w.text.call(r, fmt::format("cuMemHostUnregister({})", where(w, address)));
  if (r != CUDA_SUCCESS) return;
  in->kind = memory::page;
  in->read_only = false;
}

void device_pointer(world& w) {
  block* const in = any_block(w);
  const CUdeviceptr address =
      in == nullptr ? 0 : in->address + w.d.one_of<std::size_t>({0, 0, in->size / 2});
  const unsigned flags = w.d.one_of({0u, 0u, 0u, 1u});
  CUdeviceptr found = 0;
  const CUresult r = w.driver().cuMemHostGetDevicePointer_v2(
      w.d.one_in(16) ? nullptr : &found, reinterpret_cast<void*>(address), flags);
  w.text.call(r, fmt::format("cuMemHostGetDevicePointer({}, {})", where(w, address), flags),
              where(w, found));
}

// Records the flags without the portable flag, which depends on the number of contexts.
void get_host_flags(world& w) {
  block* const in = any_block(w);
  const CUdeviceptr address =
      in == nullptr ? 0 : in->address + w.d.one_of<std::size_t>({0, 0, in->size / 2});
  unsigned flags = 99;
  const CUresult r = w.driver().cuMemHostGetFlags(w.d.one_in(16) ? nullptr : &flags,
                                                  reinterpret_cast<void*>(address));
  w.text.call(r, fmt::format("cuMemHostGetFlags({})", where(w, address)),
              fmt::format("{}", flags & ~CU_MEMHOSTALLOC_PORTABLE));
}

}  // namespace

std::span<const action> host_memory_actions() {
  static constexpr action all[] = {
      {5, allocate_host_memory}, {3, release_host_memory}, {3, take_page},     {3, register_page},
      {2, unregister},           {2, device_pointer},      {2, get_host_flags}};
  return all;
}

}  // namespace weir::sequences
