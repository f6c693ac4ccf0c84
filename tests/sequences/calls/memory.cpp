// SPDX-License-Identifier: Apache-2.0
// sequences/calls/memory.cpp - device memory: allocated, queried, freed; and the contents of any
// memory.
#include "sequences/actions.hpp"
#include "sequences/block_contents.hpp"

namespace weir::sequences {
namespace {

// Some sizes are impossible; the second exceeds any device.
std::size_t any_block_size(world& w) {
  return w.d.one_of<std::size_t>(
      {1, 3, 64, 255, 256, 512, 1000, 4096, 5000, 16384, 65536, 0, std::size_t{1} << 50});
}

void allocate_memory(world& w) {
  const std::size_t size = any_block_size(w);
  const bool nowhere = w.d.one_in(32) || is_full(w);
  CUdeviceptr made = 0;
  const CUresult r = w.driver().cuMemAlloc_v2(nowhere ? nullptr : &made, size);
  w.text.call(r, fmt::format("cuMemAlloc({}{})", nowhere ? "null, " : "", size),
              r == CUDA_SUCCESS
                  ? add_block(w, {.kind = memory::device, .address = made, .size = size})
                  : "");
}

void allocate_pitched(world& w) {
  const std::size_t width = w.d.one_of<std::size_t>({1, 4, 100, 512, 513, 1024, 0}),
                    height = w.d.one_of<std::size_t>({1, 2, 4, 7, 0});
  const unsigned element = w.d.one_of({4u, 4u, 8u, 16u, 0u, 1u, 2u, 3u, 12u, 32u});
  if (is_full(w)) return;
  CUdeviceptr made = 0;
  std::size_t pitch = 0;
  const CUresult r = w.driver().cuMemAllocPitch_v2(&made, w.d.one_in(32) ? nullptr : &pitch, width,
                                                   height, element);
  std::string name;
  if (r == CUDA_SUCCESS)
    name = add_block(
        w, {.kind = memory::pitched, .address = made, .size = pitch * height, .pitch = pitch});
  w.text.call(r, fmt::format("cuMemAllocPitch({}, {}, {})", width, height, element),
              fmt::format("{} {}", name, pitch));
}

// Frees any memory at any address: only the start of device memory is accepted.
void release_memory(world& w) {
  block* const in = any_block(w);
  if (in == nullptr) return w.text.call(w.driver().cuMemFree_v2(0), "cuMemFree(0)");
  const std::size_t offset = w.d.one_in(8) ? in->size / 2 : 0;
  const CUdeviceptr address = in->address + offset;
  if (!can_free(w, *in)) return;
  const std::string name = where(w, address);
  const CUresult r = w.driver().cuMemFree_v2(address);
  w.text.call(r, fmt::format("cuMemFree({})", name));
  if (r != CUDA_SUCCESS) return;
  in->live = false;
  // Nothing was allocated since, so the address still belongs to nothing.
  if (w.d.one_in(4))
    w.text.call(w.driver().cuMemFree_v2(address), fmt::format("cuMemFree({} again)", name));
}

void address_range(world& w) {
  block* const in = any_block(w);
  const CUdeviceptr address =
      in == nullptr ? w.d.one_of<CUdeviceptr>({0, 0x1234})
                    : in->address + w.d.one_of<std::size_t>({0, 0, in->size / 2, in->size - 1});
  CUdeviceptr base = 0;
  std::size_t size = 0;
  const bool no_base = w.d.one_in(8), no_size = w.d.one_in(8);
  const CUresult r = w.driver().cuMemGetAddressRange_v2(no_base ? nullptr : &base,
                                                        no_size ? nullptr : &size, address);
  w.text.call(r, fmt::format("cuMemGetAddressRange({})", where(w, address)),
              r == CUDA_SUCCESS ? fmt::format("{} {}", where(w, base), size) : "");
}

void information(world& w) {
  std::size_t available = 0, total = 0;
  const CUresult r = w.driver().cuMemGetInfo_v2(w.d.one_in(8) ? nullptr : &available,
                                                w.d.one_in(8) ? nullptr : &total);
  w.text.call(r, "cuMemGetInfo()");
}

void look(world& w) {
  block* const in = any_block(w);
  if (in == nullptr) return;
  sync_all(w);
  w.text.note(contents(w, *in));
}

}  // namespace

std::span<const action> memory_actions() {
  static constexpr action all[] = {{10, allocate_memory}, {3, allocate_pitched},
                                   {7, release_memory},   {3, address_range},
                                   {1, information},      {6, look}};
  return all;
}

}  // namespace weir::sequences
