// SPDX-License-Identifier: Apache-2.0
// sequences/block_contents.cpp - the blocks of memory of a sequence: added, filled, read, freed.
#include "sequences/block_contents.hpp"

#include <cstring>

namespace weir::sequences {
namespace {

constexpr std::size_t max_blocks = 8;

char letter_of(memory kind) {
  switch (kind) {
    case memory::device: return 'd';
    case memory::pitched: return 'w';
    case memory::pinned: return 'h';
    case memory::managed: return 'm';
    case memory::pooled: return 'a';
    case memory::page: return 'p';
    case memory::registered: return 'r';
  }
  return '?';
}

// Makes a context current for the scope; the calls need one, and the sequence may have none.
class any_context_here {
 public:
  explicit any_context_here(world& w) : d_{w.p.driver.plain} {
    (void)d_.cuCtxPushCurrent_v2(w.p.contexts[0]);
  }
  any_context_here(const any_context_here&) = delete;
  any_context_here& operator=(const any_context_here&) = delete;
  ~any_context_here() {
    CUcontext popped = nullptr;
    (void)d_.cuCtxPopCurrent_v2(&popped);
  }

 private:
  const driver_table& d_;
};

}  // namespace

bool is_full(const world& w) { return live_indices(w.blocks).size() >= max_blocks; }

std::string add_block(world& w, block made, const chosen_stream& by) {
  made.name = fmt::format("{}{}", letter_of(made.kind), w.blocks.size());
  w.blocks.push_back(made);
  block& one = w.blocks.back();
  if (one.size == 0 || one.address == 0) return one.name;
  const unsigned char fill = static_cast<unsigned char>(0x40 + w.blocks.size());
  if (one.kind == memory::page) {
    std::memset(reinterpret_cast<void*>(one.address), fill, one.size);
  } else if (one.kind == memory::pooled) {
    (void)w.driver().cuMemsetD8Async(one.address, fill, one.size, by.handle);
    record_use(w, one, by);
  } else {
    (void)w.p.driver.plain.cuMemsetD8_v2(one.address, fill, one.size);
    sync_all(w);
  }
  return one.name;
}

std::string contents(world& w, const block& of) {
  std::vector<std::uint8_t> bytes(of.size);
  CUresult r = CUDA_SUCCESS;
  if (of.kind == memory::page || of.kind == memory::registered || of.kind == memory::pinned) {
    std::memcpy(bytes.data(), reinterpret_cast<const void*>(of.address), bytes.size());
  } else if (!bytes.empty()) {
    const any_context_here here{w};
    r = w.p.driver.plain.cuMemcpyDtoH_v2(bytes.data(), of.address, bytes.size());
  }
  if (r != CUDA_SUCCESS) return fmt::format("{} cannot be read: {}", of.name, short_name(r));
  return fmt::format("{} holds {:08x}", of.name, hash_of(bytes) & 0xffffffff);
}

void release_block(world& w, block& one) {
  const any_context_here here{w};
  const driver_table& d = w.p.driver.plain;
  one.live = false;
  switch (one.kind) {
    case memory::page: return;
    case memory::registered:
      return (void)d.cuMemHostUnregister(reinterpret_cast<void*>(one.address));
    case memory::pinned: return (void)d.cuMemFreeHost(reinterpret_cast<void*>(one.address));
    default: return (void)d.cuMemFree_v2(one.address);
  }
}

}  // namespace weir::sequences
