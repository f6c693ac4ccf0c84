// SPDX-License-Identifier: Apache-2.0
// sequences/calls/pointer.cpp - attributes of addresses.
#include "sequences/actions.hpp"

#include <cstring>

namespace weir::sequences {
namespace {

union value {
  CUcontext context;
  CUmemoryPool pool;
  CUdeviceptr address;
  void* pointer;
  std::size_t size;
  unsigned long long wide;
  unsigned number;
  std::uint8_t bytes[64];
};

// Excludes the P2P tokens (5), which need a kernel module.
CUpointer_attribute any_pointer_attribute(world& w) {
  static constexpr unsigned known[] = {1,  2,  3,  4,  6,  7,  8,  9,  10, 11,
                                       12, 13, 14, 15, 16, 17, 18, 19, 20, 21};
  return static_cast<CUpointer_attribute>(w.d.one_in(16) ? w.d.one_of({0u, 99u})
                                                         : known[w.d.below(std::size(known))]);
}

// Omits what a driver may choose freely: ids, mapping sizes, capabilities of the machine.
std::string pointer_value_text(const world& w, CUpointer_attribute attribute, const value& v) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT: return name_of(w, v.context);
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR: return where(w, v.address);
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE: return name_of(w, v.pool);
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE: return fmt::format("{}", v.size);
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS: return fmt::format("{}", static_cast<int>(v.number));
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_MAPPED: return fmt::format("{}", v.bytes[0] != 0);
    default: return {};
  }
}

std::pair<CUdeviceptr, std::string> any_address(world& w) {
  const block* const in = any_block(w);
  if (in == nullptr || w.d.one_in(16)) {
    const CUdeviceptr address = invalid_address(w);
    return {address, fmt::format("{:#x}", address)};
  }
  const CUdeviceptr address =
      in->address + w.d.one_of<std::size_t>({0, 0, in->size / 2, in->size - 1});
  return {address, where(w, address)};
}

void get_pointer_attribute(world& w) {
  const auto [address, name] = any_address(w);
  const CUpointer_attribute attribute = any_pointer_attribute(w);
  value v;
  std::memset(&v, 0, sizeof v);
  const CUresult r =
      w.driver().cuPointerGetAttribute(w.d.one_in(32) ? nullptr : &v, attribute, address);
  w.text.call(r,
              fmt::format("cuPointerGetAttribute({}, {})", static_cast<unsigned>(attribute), name),
              r == CUDA_SUCCESS ? pointer_value_text(w, attribute, v) : "");
}

void get_many(world& w) {
  const auto [address, name] = any_address(w);
  const unsigned count = w.d.below(4);
  CUpointer_attribute attributes[4];
  value values[4];
  void* outputs[4];
  std::memset(values, 0, sizeof values);
  std::string list;
  for (unsigned i = 0; i < 4; ++i) {
    attributes[i] = any_pointer_attribute(w);
    outputs[i] = &values[i];
    if (i < count) list += fmt::format("{} ", static_cast<unsigned>(attributes[i]));
  }
  const CUresult r = w.driver().cuPointerGetAttributes(count, w.d.one_in(32) ? nullptr : attributes,
                                                       w.d.one_in(32) ? nullptr : outputs, address);
  std::string all;
  for (unsigned i = 0; r == CUDA_SUCCESS && i < count; ++i)
    all += fmt::format("[{}]", pointer_value_text(w, attributes[i], values[i]));
  w.text.call(r, fmt::format("cuPointerGetAttributes({}{})", list, name), all);
}

void set_pointer_attribute(world& w) {
  const auto [address, name] = any_address(w);
  const CUpointer_attribute attribute =
      w.d.one_in(4) ? any_pointer_attribute(w) : CU_POINTER_ATTRIBUTE_SYNC_MEMOPS;
  const unsigned on = w.d.below(3);
  const CUresult r =
      w.driver().cuPointerSetAttribute(w.d.one_in(16) ? nullptr : &on, attribute, address);
  w.text.call(r, fmt::format("cuPointerSetAttribute({}, {}, {})", static_cast<unsigned>(attribute),
                             on, name));
}

}  // namespace

std::span<const action> pointer_actions() {
  static constexpr action all[] = {
      {10, get_pointer_attribute}, {4, get_many}, {2, set_pointer_attribute}};
  return all;
}

}  // namespace weir::sequences
