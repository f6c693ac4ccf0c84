// model/event_board.hpp - where the state of events lies that several processes have.
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace weir::embedded::model {

// What all processes know of one event. Each record takes the next ticket and, in the order of its stream, completes it;
// a ticket that is complete completes all before it, as a counting semaphore of a GPU does. Tickets are numbers that wrap
// around, and go on from one event of the place to the next, so that a late completion harms nobody.
struct alignas(64) event_place {
  std::atomic<unsigned long long> id{0};   // of the event that has it, or had it last; 0 before the first
  std::atomic<std::uint32_t> recorded{0};  // the last ticket
  std::atomic<std::uint32_t> completed{0};
  std::atomic<std::uint32_t> first{0};    // the last ticket before the event was made
  std::atomic<std::int32_t> recorder{0};  // the process that took the last ticket
  std::atomic<std::int32_t> users{0};     // event objects of it, in all processes; negative while it changes hands

  [[nodiscard]] bool complete(std::uint32_t ticket) const noexcept {
    return static_cast<std::int32_t>(completed.load(std::memory_order_acquire) - ticket) >= 0;
  }

  // Counts one more user of the event with an id. False if that is no longer here.
  [[nodiscard]] bool enter(unsigned long long wanted) noexcept {
    if (users.fetch_add(1, std::memory_order_acq_rel) >= 0 && id.load(std::memory_order_acquire) == wanted) return true;
    leave();
    return false;
  }
  void leave() noexcept { users.fetch_sub(1, std::memory_order_acq_rel); }

  // Completes a ticket and all before it.
  void complete_up_to(std::uint32_t ticket) noexcept {
    std::uint32_t known = completed.load(std::memory_order_relaxed);
    while (static_cast<std::int32_t>(known - ticket) < 0 &&
           !completed.compare_exchange_weak(known, ticket, std::memory_order_release, std::memory_order_relaxed)) {
    }
  }
};
static_assert(sizeof(event_place) == 64 && std::atomic<unsigned long long>::is_always_lock_free);

// The places for the events that one process makes, in a segment that others open. A board that was opened stays mapped
// until the process ends, because work that refers to it may still be under way; it takes up the pages that are used.
struct event_board {
  static constexpr std::uint64_t right_mark = 0x31'64'72'61'6f'62'72'77;  // "wrboard1"
  static constexpr std::size_t capacity = (std::size_t{1} << 14) - 1;

  std::uint64_t mark;
  std::uint64_t identity;  // never the same for two boards
  std::int32_t process;
  std::uint32_t reserved[11];
  std::array<event_place, capacity> places;

  // This process's own, made when it is first asked for, and its descriptor. Null where the system gives none.
  [[nodiscard]] static event_board* own() noexcept;
  [[nodiscard]] static int own_descriptor() noexcept;

  // The board of another process. Null where there is none behind the descriptor, or another than the expected one.
  // Throws std::bad_alloc.
  [[nodiscard]] static event_board* of(pid_t process, int fd, std::uint64_t identity);

  // A place for a new event, with one user. Null where there are none left.
  [[nodiscard]] event_place* claim() noexcept;

  [[nodiscard]] int number_of(const event_place& place) const noexcept {
    return static_cast<int>(&place - places.data());
  }
};

// Has a process ended? Also one that nobody has asked for its exit status yet.
[[nodiscard]] bool has_ended(pid_t process) noexcept;

}  // namespace weir::embedded::model
