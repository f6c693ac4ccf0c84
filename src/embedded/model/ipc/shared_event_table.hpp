// model/shared_event_table.hpp - where the state of events lies that several processes have.
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace weir::embedded::model {

// A record of an event: its number among those of the place, and the process that made it.
struct alignas(8) event_ticket {
  std::uint32_t number = 0;
  std::int32_t process = 0;
};
static_assert(std::atomic<event_ticket>::is_always_lock_free, "processes share it");

// What all processes know of one event. Each record takes the next ticket and, in the order of its
// stream, completes it; a ticket that is complete completes all before it, as a counting semaphore
// of a GPU does. Tickets are numbers that wrap around, and go on from one event of the place to the
// next, so that a late completion harms nobody.
struct alignas(64) shared_event_slot {
  std::atomic<unsigned long long> id{
      0};  // of the event that has it, or had it last; 0 before the first
  std::atomic<event_ticket>
      last{};  // number and process in one: of two that record at once each knows who was before it
  std::atomic<std::uint32_t> completed{0};
  std::atomic<std::uint32_t> first{0};  // the last ticket before the event was made

  [[nodiscard]] bool complete(std::uint32_t ticket) const noexcept {
    return static_cast<std::int32_t>(completed.load(std::memory_order_acquire) - ticket) >= 0;
  }

  // Takes the next ticket for a process. The one before it.
  event_ticket take_ticket(std::int32_t process) noexcept {
    event_ticket before = last.load(std::memory_order_acquire);
    while (!last.compare_exchange_weak(before, {before.number + 1, process},
                                       std::memory_order_acq_rel)) {
    }
    return before;
  }

  // Completes a ticket and all before it.
  void complete_up_to(std::uint32_t ticket) noexcept {
    std::uint32_t known = completed.load(std::memory_order_relaxed);
    while (static_cast<std::int32_t>(known - ticket) < 0 &&
           !completed.compare_exchange_weak(known, ticket, std::memory_order_release,
                                            std::memory_order_relaxed)) {
    }
  }
};
static_assert(sizeof(shared_event_slot) == 64 &&
              std::atomic<unsigned long long>::is_always_lock_free &&
              std::atomic<event_ticket>::is_always_lock_free);

// The places for the events that one process makes, in a segment that others open. A board that was
// opened stays mapped until the process ends, because work that refers to it may still be under
// way; it takes up the pages that are used.
//
// Whether another process has an event is known by a lock that it holds on a byte of the segment,
// the place's. The system lets go of it when the process ends, however that comes about; so no
// place is lost with a process.
struct shared_event_table {
  static constexpr std::uint64_t expected_magic = 0x32'64'72'61'6f'62'72'77;  // "wrboard2"
  static constexpr std::size_t capacity = (std::size_t{1} << 14) - 1;

  std::uint64_t magic;
  std::uint64_t identity;  // never the same for two boards
  std::int32_t process;
  std::uint32_t reserved[11];
  std::array<shared_event_slot, capacity> slots;

  // This process's own, made when it is first asked for, and its descriptor. Null where the system
  // gives none. Throws std::bad_alloc.
  [[nodiscard]] static shared_event_table* local_table();
  [[nodiscard]] static int local_descriptor();

  // The board of another process. Null where there is none behind the descriptor, or another than
  // the expected one. Throws std::bad_alloc.
  [[nodiscard]] static shared_event_table* open(pid_t process, int fd, std::uint64_t identity);

  // A place of our own board for a new event, which this process has once. Null where there are
  // none left. Throws std::bad_alloc.
  [[nodiscard]] shared_event_slot* claim();

  // The place of another process's event, which this process has once more. Null if the event with
  // that id is no longer there. Throws std::bad_alloc.
  [[nodiscard]] shared_event_slot* open_slot(std::size_t number, unsigned long long id);

  // This process has the event at a place, of whichever board, once less.
  static void release_slot(shared_event_slot& slot) noexcept;

  [[nodiscard]] int index_of(const shared_event_slot& slot) const noexcept {
    return static_cast<int>(&slot - slots.data());
  }
};

// Has a process ended? Also one that nobody has asked for its exit status yet.
[[nodiscard]] bool has_ended(pid_t process) noexcept;

}  // namespace weir::embedded::model
