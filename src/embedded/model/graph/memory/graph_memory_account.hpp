// SPDX-License-Identifier: Apache-2.0
// embedded/model/graph/memory/graph_memory_account.hpp - the memory of a device that graphs use and
// reserve.
#pragma once

#include <cstddef>
#include <mutex>
#include <vector>

#include "driver/abi.hpp"

namespace weir::embedded::model {

class device;
struct graph_block;

// The graph memory of one device. Memory is reserved from the device in whole chunks
// (device::chunk()), and stays reserved until trim(). The used part of the reserved memory belongs
// to blocks, each of which is the memory of an allocation node (graph_block.hpp).
//
// Thread safety: get(), reset() and trim() lock mutex(). The caller of every other member holds it.
class graph_memory_account {
 public:
  explicit graph_memory_account(device& owner_device) noexcept : device_{owner_device} {}

  // Guards all accounts and the state of blocks (graph_block.hpp). It is not held while work is
  // submitted or a block is destroyed.
  static std::mutex& mutex() noexcept;

  // Reserves more memory if less than `bytes` bytes are reserved in total. Returns false if the
  // device has too little memory left.
  bool reserve(std::size_t bytes) noexcept;

  // Makes add() possible for this number of further blocks. Throws std::bad_alloc.
  void make_room(std::size_t blocks) { backed_.reserve(backed_.size() + blocks); }
  // Counts the memory of a block as used. The caller has called make_room().
  void add(graph_block& block) noexcept;
  // No longer counts the memory of a block as used. It stays reserved. The block has been added.
  void remove(graph_block& block) noexcept;

  // Like remove(), for a block that is destroyed. If the block counts_until_trim, its memory is
  // still reported as used until trim(), as far as no other block reuses it.
  void end(graph_block& block) noexcept;

  // Makes `more` bytes available in addition to the used ones: takes memory from blocks that no
  // work uses, until enough is reserved. Returns false if that does not suffice; the blocks have
  // then lost their memory all the same.
  bool reserve_from_idle(std::size_t more) noexcept;

  // Returns the blocks whose memory counts as used.
  [[nodiscard]] const std::vector<graph_block*>& backed() const noexcept { return backed_; }
  // Returns the bytes of all blocks in backed().
  [[nodiscard]] std::size_t used() const noexcept { return used_; }

  // Takes the memory of blocks that no work uses. Then returns all whole chunks that are not used
  // to the device.
  void trim() noexcept;

  // Gets the value of a CU_GRAPH_MEM_ATTR_*: the used or reserved bytes, or a high-water mark. Used
  // bytes are rounded up to whole chunks. Returns false for an unknown attribute.
  bool get(abi::CUgraphMem_attribute attribute, std::size_t& value) const noexcept;
  // Resets a high-water mark, CU_GRAPH_MEM_ATTR_*_HIGH, to the current value. Returns false for all
  // other attributes.
  bool reset(abi::CUgraphMem_attribute attribute) noexcept;

 private:
  [[nodiscard]] std::size_t round_to_chunks(std::size_t bytes) const noexcept;

  device& device_;
  std::size_t used_ = 0, used_high_ = 0;  // the bytes of all blocks in backed_
  std::size_t reserved_ = 0, reserved_high_ = 0;
  std::size_t ended_ = 0;  // the bytes of destroyed blocks that count until the next trim
  // The blocks that count against the device.
  std::vector<graph_block*> backed_;
};

}  // namespace weir::embedded::model
