// model/graph_memory_account.hpp - how much of a device the memory of graphs takes, and whose it
// is.
#pragma once

#include <cstddef>
#include <mutex>
#include <vector>

namespace weir::embedded::model {

class device;
struct graph_block;

// A device's. What is reserved is taken from the device in whole pieces (device::chunk()), and
// stays so until it is trimmed; what is used of it belongs to blocks.
class graph_memory_account {
 public:
  // Guards all accounts, and what they say of blocks (graph_block.hpp). Not held while work is
  // submitted, nor while a block ends. All members need it.
  static std::mutex& mutex() noexcept;

  // Sees to it that so many bytes can be used in all. False where the device has not that much
  // left.
  bool reserve(device& from, std::size_t bytes) noexcept;

  // A block has memory from now on, or not any more. Room for it is made first, which throws
  // std::bad_alloc.
  void make_room(std::size_t blocks) { backed_.reserve(backed_.size() + blocks); }
  void add(graph_block& block) noexcept;
  void remove(graph_block& block) noexcept;

  // The same for so many bytes more than are used, with the memory of blocks that nothing uses any
  // more.
  bool reserve_from_idle(device& from, std::size_t more) noexcept;

  // Gives back to the device what is not used, with all that lies idle.
  void trim(device& to) noexcept;

  [[nodiscard]] const std::vector<graph_block*>& backed() const noexcept { return backed_; }
  [[nodiscard]] std::size_t used() const noexcept { return used_; }

  // In whole pieces.
  [[nodiscard]] std::size_t used(const device& of) const noexcept;
  [[nodiscard]] std::size_t used_high(const device& of) const noexcept;
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
