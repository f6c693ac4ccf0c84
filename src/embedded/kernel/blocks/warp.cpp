// SPDX-License-Identifier: Apache-2.0
// kernel/blocks/warp.cpp - groups of lanes that come together and part.
#include "embedded/kernel/blocks/warp.hpp"

#include <bit>

namespace weir::embedded::kernel {

namespace {

constexpr warp::lanes bit(unsigned lane) noexcept { return warp::lanes{1} << lane; }
constexpr unsigned first_of(warp::lanes some) noexcept {
  return static_cast<unsigned>(std::countr_zero(some));
}

}  // namespace

void warp::begin(lanes alive) noexcept {
  alive_ = alive;
  requesting_ = 0;
  free_boards_ = ~lanes{0};
  waiting_ = 0;
  held_.fill(none);
}

void warp::give_up(unsigned lane) noexcept {
  const std::uint8_t number = held_[lane];
  if (number == none) return;
  held_[lane] = none;
  if (--boards_[number].readers == 0) free_boards_ |= bit(number);
}

warp::lanes warp::arrive(unsigned lane, lanes mask, std::uint64_t value) noexcept {
  give_up(lane);
  unsigned number = 0;
  while (number < waiting_ && groups_[number].mask != mask) ++number;
  group& own_group = groups_[number];
  if (number == waiting_) {
    ++waiting_;
    own_group = {mask, 0, static_cast<std::uint8_t>(first_of(free_boards_))};
    free_boards_ &= ~bit(own_group.board);
    boards_[own_group.board].readers = 0;
  }
  own_group.arrived |= bit(lane);
  board& on = boards_[own_group.board];
  on.values[lane] = value;
  ++on.readers;
  held_[lane] = own_group.board;
  return complete_group(number);
}

// Lets a group go if all of it have come that can.
warp::lanes warp::complete_group(unsigned number) noexcept {
  const group all = groups_[number];
  if ((all.mask & alive_ & ~all.arrived) != 0) return 0;
  groups_[number] = groups_[--waiting_];
  board& on = boards_[all.board];
  on.present = all.arrived;
  for (lanes missing = ~all.arrived; missing != 0; missing &= missing - 1)
    on.values[first_of(missing)] = 0;
  return all.arrived;
}

void warp::request_mask(unsigned lane, const void* location) noexcept {
  requesting_ |= bit(lane);
  locations_[lane] = location;
}

warp::lanes warp::answer() noexcept {
  const lanes all = requesting_;
  requesting_ = 0;
  for (lanes left = all; left != 0;) {
    const void* const location = locations_[first_of(left)];
    lanes here = 0;
    for (lanes each = left; each != 0; each &= each - 1) {
      if (locations_[first_of(each)] == location) here |= bit(first_of(each));
    }
    for (lanes each = here; each != 0; each &= each - 1) answers_[first_of(each)] = here;
    left &= ~here;
  }
  return all;
}

warp::lanes warp::end(unsigned lane) noexcept {
  give_up(lane);
  alive_ &= ~bit(lane);
  lanes go = 0;
  for (unsigned number = waiting_; number-- > 0;) {
    if ((groups_[number].mask & bit(lane)) != 0) go |= complete_group(number);
  }
  return go;
}

}  // namespace weir::embedded::kernel
