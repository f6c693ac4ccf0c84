// SPDX-License-Identifier: Apache-2.0
// kernel/blocks/thread_order.hpp - in which order the threads of a block run, where nothing in the
// kernel says.
#pragma once

#include <cstdint>
#include <span>
#include <utility>

namespace weir::embedded::kernel {

// WEIR_EMBEDDED_THREADS. A kernel without a missing barrier gives the same results in any order.
struct thread_order {
  bool random = false;  // else by their linear index
  std::uint64_t seed = 0;
};

// For all launches; to be called before the first one.
void configure(thread_order how) noexcept;
[[nodiscard]] thread_order configured_order() noexcept;

// Draws orders for a block; the same for the same seed.
class shuffler {
 public:
  explicit shuffler(std::uint64_t seed) noexcept : state_{seed} {}

  template <class Element>
  void shuffle(std::span<Element> all) noexcept {
    for (std::size_t left = all.size(); left > 1; --left)
      std::swap(all[left - 1], all[next() % left]);
  }

 private:
  // Of Steele, Lea and Flood: "Fast splittable pseudorandom number generators".
  std::uint64_t next() noexcept {
    std::uint64_t mixed = state_ += 0x9e3779b97f4a7c15;
    mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111eb;
    return mixed ^ mixed >> 31;
  }

  std::uint64_t state_;
};

}  // namespace weir::embedded::kernel
