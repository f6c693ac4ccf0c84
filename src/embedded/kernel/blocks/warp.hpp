// SPDX-License-Identifier: Apache-2.0
// kernel/blocks/warp.hpp - 32 threads of a block that exchange values, some of them at a time.
#pragma once

#include <array>
#include <cstdint>

namespace weir::embedded::kernel {

// Who of a warp has come to meet whom, and what they told each other. Several groups of lanes may
// be about to meet, each known by its mask. Which lane runs when is its owner's business
// (block_threads.hpp).
//
// Thread safety: one thread at a time.
class warp {
 public:
  static constexpr unsigned size = 32;
  using lanes = std::uint32_t;

  // Begins a block; these are the lanes that run.
  void begin(lanes alive) noexcept;

  // A lane comes with a value to meet those of the mask, and gives up what it was told before. The
  // answer is who goes on now, the lane among them; 0 where it has to wait for others.
  lanes arrive(unsigned lane, lanes mask, std::uint64_t value) noexcept;

  // What a lane that has met others was told: a value from each lane, 0 of those that did not come.
  [[nodiscard]] const std::uint64_t* values(unsigned lane) const noexcept {
    return boards_[held_[lane]].values.data();
  }
  [[nodiscard]] lanes present(unsigned lane) const noexcept { return boards_[held_[lane]].present; }

  // A lane waits to hear who is at the same place; all of them are told when nobody else of the
  // warp can go on.
  void request_mask(unsigned lane, const void* location) noexcept;
  [[nodiscard]] bool has_requests() const noexcept { return requesting_ != 0; }
  lanes answer() noexcept;  // those that asked
  [[nodiscard]] lanes answer_of(unsigned lane) const noexcept { return answers_[lane]; }

  // A lane has ended: nobody waits for it any longer. The answer is who goes on now.
  lanes end(unsigned lane) noexcept;

 private:
  static constexpr std::uint8_t none = 0xff;

  struct group {
    lanes mask;
    lanes arrived;
    std::uint8_t board;
  };
  // Where a group leaves its values; kept while one of its lanes may read it. Each lane reads at
  // most one.
  struct board {
    std::array<std::uint64_t, size> values;
    lanes present;
    unsigned readers;
  };

  lanes complete_group(unsigned number) noexcept;
  void give_up(unsigned lane) noexcept;

  lanes alive_ = 0;
  lanes requesting_ = 0;
  lanes free_boards_ = 0;
  unsigned waiting_ = 0;  // groups
  std::array<group, size> groups_;
  std::array<std::uint8_t, size> held_;  // the board of each lane
  std::array<const void*, size> locations_;
  std::array<lanes, size> answers_;
  std::array<board, size> boards_;
};

}  // namespace weir::embedded::kernel
