// SPDX-License-Identifier: Apache-2.0
// sequences/calls/wild_memory.cpp - arrays, physical memory in reserved addresses, handles for
// other processes, with arbitrary arguments, for a fuzzer.
#include "sequences/actions.hpp"
#include "sequences/block_contents.hpp"

#include <cstring>

namespace weir::sequences {
namespace {

constexpr std::size_t max_per_kind = 4;
constexpr std::size_t granule = std::size_t{2} << 20;

// Returns one of them, also a destroyed one; now and then, or if there is none, something else.
template <class Handle>
Handle any_of(world& w, const std::vector<Handle>& list) {
  if (list.empty() || w.d.one_in(12)) return (Handle)(std::uintptr_t{w.d.below(4)} * 0x1238);
  return list[w.d.below(static_cast<unsigned>(list.size()))];
}

// A graph may be launched at any time, so memory that will be freed stays out of captures.
bool can_use_now(world& w, const chosen_stream& s) {
  auto status = CU_STREAM_CAPTURE_STATUS_NONE;
  return w.driver().cuStreamIsCapturing(s.handle, &status) == CUDA_SUCCESS &&
         status == CU_STREAM_CAPTURE_STATUS_NONE;
}

// Arrays.

void create_array(world& w) {
  if (w.wilds.arrays.size() >= max_per_kind) return;
  const auto format =
      w.d.one_of({CU_AD_FORMAT_UNSIGNED_INT8, CU_AD_FORMAT_FLOAT, CU_AD_FORMAT_HALF,
                  static_cast<CUarray_format>(0), static_cast<CUarray_format>(0xb0)});
  const auto extent = [&] { return w.d.one_of<std::size_t>({0, 1, 7, 16, 64, 70000}); };
  const unsigned channels = w.d.one_of({1u, 2u, 4u, 3u, 0u});
  CUarray made = nullptr;
  CUresult r = CUDA_SUCCESS;
  if (w.d.below(2) == 0) {
    const CUDA_ARRAY_DESCRIPTOR flat{
        .Width = extent(), .Height = extent(), .Format = format, .NumChannels = channels};
    r = w.driver().cuArrayCreate_v2(&made, w.d.one_in(16) ? nullptr : &flat);
  } else {
    const CUDA_ARRAY3D_DESCRIPTOR deep{.Width = extent(),
                                       .Height = extent(),
                                       .Depth = extent(),
                                       .Format = format,
                                       .NumChannels = channels,
                                       .Flags = w.d.one_of({0u, 0u, 1u, 2u, 4u, 0x10u, 0x20u})};
    r = w.driver().cuArray3DCreate_v2(&made, w.d.one_in(16) ? nullptr : &deep);
  }
  if (r == CUDA_SUCCESS) w.wilds.arrays.push_back(made);
  w.text.call(r, "cuArrayCreate");
}

void destroy_array(world& w) {
  if (!sync_all(w)) return;
  w.text.call(w.driver().cuArrayDestroy(any_of(w, w.wilds.arrays)), "cuArrayDestroy");
}

void copy_array(world& w) {
  block* const in = any_block(w);
  if (in == nullptr) return;
  const chosen_range part = any_range(w, *in);
  const bool on_host = in->kind == memory::page || in->kind == memory::pinned;
  const std::size_t length =
      part.length <= in->size - (part.address - in->address) ? part.length : 0;
  const std::size_t offset = w.d.one_of<std::size_t>({0, 0, 1, 4, 64, 100000});
  const CUarray array = any_of(w, w.wilds.arrays);
  const chosen_stream s = any_stream(w);
  const driver_table& d = w.driver();
  void* const host = part.on_host();
  const bool now = can_use_now(w, s);
  CUresult r = CUDA_SUCCESS;
  switch (w.d.below(7)) {
    case 0: r = d.cuMemcpyDtoA_v2(array, offset, part.address, length); break;
    case 1: r = d.cuMemcpyAtoD_v2(part.address, array, offset, length); break;
    case 2:
      r = d.cuMemcpyAtoA_v2(array, offset, any_of(w, w.wilds.arrays), offset / 2, length);
      break;
    case 3:
      if (on_host) r = d.cuMemcpyHtoA_v2(array, offset, host, length);
      break;
    case 4:
      if (on_host) r = d.cuMemcpyAtoH_v2(host, array, offset, length);
      break;
    case 5:
      if (on_host && now) r = d.cuMemcpyHtoAAsync_v2(array, offset, host, length, s.handle);
      break;
    default:
      if (on_host && now) r = d.cuMemcpyAtoHAsync_v2(host, array, offset, length, s.handle);
      break;
  }
  w.text.call(r, fmt::format("copy of an array and {}", in->name));
  sync_all(w);
}

// Copies rows and boxes of arrays and memory.
void copy_box_of_array(world& w) {
  CUDA_MEMCPY3D copy;
  std::memset(&copy, 0, sizeof copy);
  block* const in = any_block(w);
  if (in == nullptr) return;
  const bool into = w.d.below(2) == 0;
  const auto small = [&] { return w.d.one_of<std::size_t>({0, 0, 1, 3, 16}); };
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  copy.srcArray = any_of(w, w.wilds.arrays);
  copy.dstArray = any_of(w, w.wilds.arrays);
  copy.srcXInBytes = small(), copy.srcY = small(), copy.srcZ = small();
  copy.dstXInBytes = small(), copy.dstY = small(), copy.dstZ = small();
  copy.WidthInBytes = w.d.one_of<std::size_t>({1, 4, 16, 64, 0});
  copy.Height = w.d.one_of<std::size_t>({1, 1, 2, 7, 0});
  copy.Depth = w.d.one_of<std::size_t>({1, 1, 2, 0});
  if (w.d.below(2) == 0) {
    // Skips boxes that exceed the block.
    if (copy.WidthInBytes * copy.Height * copy.Depth > in->size) return;
    (into ? copy.srcXInBytes : copy.dstXInBytes) = 0;
    (into ? copy.srcY : copy.dstY) = (into ? copy.srcZ : copy.dstZ) = 0;
    (into ? copy.srcMemoryType : copy.dstMemoryType) = CU_MEMORYTYPE_UNIFIED;
    (into ? copy.srcDevice : copy.dstDevice) = in->address;
    (into ? copy.srcPitch : copy.dstPitch) = copy.WidthInBytes;
    (into ? copy.srcHeight : copy.dstHeight) = copy.Height;
  }
  const chosen_stream s = any_stream(w);
  const bool later = w.d.below(2) == 0 && can_use_now(w, s);
  const CUresult r =
      later ? w.driver().cuMemcpy3DAsync_v2(&copy, s.handle) : w.driver().cuMemcpy3D_v2(&copy);
  w.text.call(r, fmt::format("box of an array and {}", in->name));
  sync_all(w);
}

// Physical memory.

void reserve(world& w) {
  if (w.wilds.ranges.size() >= max_per_kind) return;
  const std::size_t size = w.d.one_of<std::size_t>({granule, 2 * granule, 3 * granule, 0, 4096, 1});
  const std::size_t alignment = w.d.one_of<std::size_t>({0, 0, granule, 2 * granule, 3});
  CUdeviceptr at = 0;
  const CUresult r = w.driver().cuMemAddressReserve(&at, size, alignment,
                                                    w.d.one_in(8) ? granule : 0, w.d.one_in(8));
  if (r == CUDA_SUCCESS) w.wilds.ranges.push_back(at);
  w.text.call(r, fmt::format("cuMemAddressReserve({}, {})", size, alignment));
}

CUdeviceptr any_mapped(world& w) { return any_of(w, w.wilds.ranges) + w.d.below(3) * granule; }
std::size_t any_size(world& w) {
  return w.d.one_of<std::size_t>({granule, granule, 2 * granule, 3 * granule, 0, 4096});
}

void create_piece(world& w) {
  if (w.wilds.pieces.size() >= max_per_kind) return;
  CUmemAllocationProp prop;
  std::memset(&prop, 0, sizeof prop);
  prop.type = w.d.one_in(8) ? static_cast<CUmemAllocationType>(0) : CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location = {w.d.one_in(6) ? CU_MEM_LOCATION_TYPE_HOST : CU_MEM_LOCATION_TYPE_DEVICE,
                   w.d.one_in(8) ? 99 : 0};
  prop.requestedHandleTypes =
      w.d.one_of({CU_MEM_HANDLE_TYPE_NONE, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR});
  CUmemGenericAllocationHandle made = 0;
  const CUresult r =
      w.driver().cuMemCreate(&made, any_size(w), w.d.one_in(16) ? nullptr : &prop, w.d.one_in(8));
  if (r == CUDA_SUCCESS) w.wilds.pieces.push_back(made);
  w.text.call(r, "cuMemCreate");
}

void use_piece(world& w) {
  const driver_table& d = w.driver();
  const CUdeviceptr at = any_mapped(w);
  const std::size_t size = any_size(w);
  const CUmemAccessDesc access{
      {CU_MEM_LOCATION_TYPE_DEVICE, w.d.one_in(8) ? 7 : 0},
      w.d.one_of({CU_MEM_ACCESS_FLAGS_PROT_READWRITE, CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
                  CU_MEM_ACCESS_FLAGS_PROT_READ, CU_MEM_ACCESS_FLAGS_PROT_NONE})};
  CUmemGenericAllocationHandle handle = 0;
  unsigned long long flags = 0;
  switch (w.d.below(9)) {
    case 0:
    case 1:
      return w.text.call(
          d.cuMemMap(at, size, w.d.one_in(6) ? granule : 0, any_of(w, w.wilds.pieces), 0),
          "cuMemMap");
    case 2:
    case 3: return w.text.call(d.cuMemSetAccess(at, size, &access, w.d.below(2)), "cuMemSetAccess");
    case 4:
      if (sync_all(w)) w.text.call(d.cuMemUnmap(at, size), "cuMemUnmap");
      return;
    case 5: return w.text.call(d.cuMemGetAccess(&flags, &access.location, at), "cuMemGetAccess");
    case 6: return w.text.call(d.cuMemRelease(any_of(w, w.wilds.pieces)), "cuMemRelease");
    case 7:
      return w.text.call(d.cuMemRetainAllocationHandle(&handle, reinterpret_cast<void*>(at)),
                         "cuMemRetainAllocationHandle");
    default:
      if (sync_all(w))
        w.text.call(d.cuMemAddressFree(any_of(w, w.wilds.ranges), size), "cuMemAddressFree");
      return;
  }
}

void set_piece(world& w) {
  const chosen_stream s = any_stream(w);
  const CUdeviceptr at = any_mapped(w) + w.d.one_of({0u, 1u, 4096u});
  const std::size_t length = w.d.one_of<std::size_t>({1, 100, granule, 2 * granule});
  if (!can_use_now(w, s)) return;
  w.text.call(w.driver().cuMemsetD8Async(at, 1, length, s.handle), "cuMemsetD8Async(mapped)");
  sync_all(w);
}

// Handles for other processes. No other process runs, but the handles exist.

void share(world& w) {
  const driver_table& d = w.driver();
  block* const in = any_block(w);
  CUipcMemHandle memory_handle;
  CUipcEventHandle event_handle;
  std::memset(&memory_handle, static_cast<int>(w.d.below(2)), sizeof memory_handle);
  std::memset(&event_handle, static_cast<int>(w.d.below(2)), sizeof event_handle);
  CUdeviceptr opened = in != nullptr ? in->address : 0;
  CUevent event = nullptr;
  switch (w.d.below(4)) {
    case 0: {
      const CUdeviceptr of = w.d.one_in(6) ? invalid_address(w) : opened;
      w.text.call(d.cuIpcGetMemHandle(&memory_handle, of), "cuIpcGetMemHandle");
      break;
    }
    case 1:
      w.text.call(d.cuIpcGetEventHandle(&event_handle, any_event(w).handle), "cuIpcGetEventHandle");
      break;
    case 2: break;
    default:
      if (!w.d.one_in(4) || opened == 0) break;
      return w.text.call(d.cuIpcCloseMemHandle(opened), "cuIpcCloseMemHandle");
  }
  if (w.d.below(2) == 0)
    memory_handle.reserved[w.d.below(64)] ^= 1, event_handle.reserved[w.d.below(64)] ^= 1;
  if (w.d.below(2) == 0) {
    const CUresult r = d.cuIpcOpenMemHandle_v2(&opened, memory_handle, w.d.below(2));
    w.text.call(r, "cuIpcOpenMemHandle");
    if (r == CUDA_SUCCESS) (void)d.cuIpcCloseMemHandle(opened);
  } else {
    const CUresult r = d.cuIpcOpenEventHandle(&event, event_handle);
    w.text.call(r, "cuIpcOpenEventHandle");
    if (r == CUDA_SUCCESS) (void)d.cuEventDestroy_v2(event);
  }
}

void managed_batches(world& w) {
  const driver_table& d = w.driver();
  block* const in = any_block(w);
  if (in == nullptr || in->in_graph) return;
  const chosen_range part = any_range(w, *in);
  CUdeviceptr addresses[2] = {part.address, in->address};
  std::size_t sizes[2] = {part.length, in->size};
  CUmemLocation places[1] = {
      {w.d.one_of({CU_MEM_LOCATION_TYPE_DEVICE, CU_MEM_LOCATION_TYPE_HOST}), 0}};
  std::size_t indices[1] = {w.d.one_in(8)};
  const chosen_stream s = any_stream(w);
  const std::size_t count = w.d.below(3);
  switch (w.d.below(3)) {
    case 0:
      return w.text.call(d.cuMemPrefetchBatchAsync(addresses, sizes, count, places, indices,
                                                   w.d.below(2), 0, s.handle),
                         "cuMemPrefetchBatchAsync");
    case 1:
      return w.text.call(d.cuMemDiscardBatchAsync(addresses, sizes, count, 0, s.handle),
                         "cuMemDiscardBatchAsync");
    default:
      return w.text.call(d.cuMemDiscardAndPrefetchBatchAsync(addresses, sizes, count, places,
                                                             indices, w.d.below(2), 0, s.handle),
                         "cuMemDiscardAndPrefetchBatchAsync");
  }
}

}  // namespace

std::span<const action> wild_memory_actions() {
  static constexpr action all[] = {
      {3, create_array}, {2, destroy_array},   {4, copy_array}, {4, copy_box_of_array},
      {3, reserve},      {3, create_piece},    {8, use_piece},  {2, set_piece},
      {2, share},        {2, managed_batches},
  };
  return all;
}

void end_wild_memory(world& w) {
  const driver_table& d = w.p.driver.plain;
  for (const CUarray array : w.wilds.arrays) (void)d.cuArrayDestroy(array);
  for (const CUdeviceptr at : w.wilds.ranges) {
    // Each mapping has one to three granules, and so has the range.
    for (unsigned from = 0; from < 3; ++from) {
      for (std::size_t size = granule; size <= 3 * granule; size += granule)
        (void)d.cuMemUnmap(at + from * granule, size);
    }
    for (std::size_t size = granule; size <= 3 * granule; size += granule)
      (void)d.cuMemAddressFree(at, size);
  }
  for (const CUmemGenericAllocationHandle piece : w.wilds.pieces) {
    while (d.cuMemRelease(piece) == CUDA_SUCCESS) {
    }
  }
}

}  // namespace weir::sequences
