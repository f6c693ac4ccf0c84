// SPDX-License-Identifier: Apache-2.0
// embedded/model/graph/memory/graph_memory_account.hpp - the memory of a device that graphs use and
// reserve.
#pragma once

#include <cstddef>
#include <mutex>
#include <vector>

namespace weir::embedded::model {

class device;
struct graph_block;

// The account of a device. Memory is reserved from the device in whole chunks (device::chunk())
// until it is trimmed. The used part of it belongs to blocks.
class graph_memory_account {
 public:
  // Guards all accounts and the state of blocks (graph_block.hpp). Not held while work is submitted
  // or a block is destroyed. All members below require it.
  static std::mutex& mutex() noexcept;

  // Reserves `bytes` bytes in total. Returns false if the device has too little memory left.
  bool reserve(device& source_device, std::size_t bytes) noexcept;

  // Count or uncount the memory of a block. make_room() must be called before add(), and throws
  // std::bad_alloc.
  void make_room(std::size_t blocks) { backed_.reserve(backed_.size() + blocks); }
  void add(graph_block& block) noexcept;
  void remove(graph_block& block) noexcept;

  // Makes `more` bytes available besides the used ones, by taking the memory of idle blocks.
  // Returns false if that is not enough.
  bool reserve_from_idle(device& source_device, std::size_t more) noexcept;

  // Returns the reserved memory that is not used, including that of idle blocks, to the device.
  void trim(device& target_device) noexcept;

  [[nodiscard]] const std::vector<graph_block*>& backed() const noexcept { return backed_; }
  [[nodiscard]] std::size_t used() const noexcept { return used_; }

  // Rounded up to whole chunks.
  [[nodiscard]] std::size_t used(const device& owner_device) const noexcept;
  [[nodiscard]] std::size_t used_high(const device& owner_device) const noexcept;
  [[nodiscard]] std::size_t reserved() const noexcept { return reserved_; }
  [[nodiscard]] std::size_t reserved_high() const noexcept { return reserved_high_; }
  void reset_used_high() noexcept { used_high_ = used_; }
  void reset_reserved_high() noexcept { reserved_high_ = reserved_; }

 private:
  std::size_t used_ = 0, used_high_ = 0;  // bytes of blocks
  std::size_t reserved_ = 0, reserved_high_ = 0;
  std::vector<graph_block*> backed_;
};

}  // namespace weir::embedded::model
