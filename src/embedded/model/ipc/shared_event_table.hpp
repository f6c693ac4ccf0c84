// SPDX-License-Identifier: Apache-2.0
// embedded/model/ipc/shared_event_table.hpp - a table of the events that processes share.
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace weir::embedded::model {

// A ticket stands for one record of a shared event. `number` is one more than that of the previous
// record in the event's slot. `process` is the ID of the process that made the record.
struct alignas(8) event_ticket {
  std::uint32_t number = 0;
  std::int32_t process = 0;
};

// A slot: the state of one event in shared memory. Each record takes the next ticket, and completes
// it when the work before the record is complete. `completed` only grows: completing a ticket also
// completes all earlier ones.
// Ticket numbers wrap around. They continue when the slot is used for another event, so a late
// completion for an old event has no effect.
struct alignas(64) shared_event_slot {
  // The ID of the event that uses the slot, or used it last; 0 before the first event.
  std::atomic<unsigned long long> id{0};
  // The last ticket that was taken. Number and process are in one atomic, so that each of two
  // concurrent records finds the ticket before its own.
  std::atomic<event_ticket> last{};
  // The highest ticket that is complete.
  std::atomic<std::uint32_t> completed{0};
  // The last ticket that was taken before the current event was made.
  std::atomic<std::uint32_t> first{0};

  [[nodiscard]] bool complete(std::uint32_t ticket) const noexcept {
    return static_cast<std::int32_t>(completed.load(std::memory_order_acquire) - ticket) >= 0;
  }

  // Takes the next ticket for a process. Returns the previous ticket.
  event_ticket take_ticket(std::int32_t process) noexcept {
    event_ticket before = last.load(std::memory_order_acquire);
    while (!last.compare_exchange_weak(before, {before.number + 1, process},
                                       std::memory_order_acq_rel)) {
    }
    return before;
  }

  // Completes a ticket and all earlier ones.
  void complete_up_to(std::uint32_t ticket) noexcept {
    std::uint32_t known_ticket = completed.load(std::memory_order_relaxed);
    while (static_cast<std::int32_t>(known_ticket - ticket) < 0 &&
           !completed.compare_exchange_weak(known_ticket, ticket, std::memory_order_release,
                                            std::memory_order_relaxed)) {
    }
  }
};
static_assert(sizeof(shared_event_slot) == 64 &&
              std::atomic<unsigned long long>::is_always_lock_free &&
              std::atomic<event_ticket>::is_always_lock_free);

// The slots for the events that one process makes, in a segment that other processes open. A
// process keeps an opened table mapped until it ends, because submitted work may refer to the
// table. The table only uses memory for pages that were touched.
//
// A process that has opened an event of another process holds a file lock on one byte of the
// segment: the byte at the offset that equals the slot's index. The system releases the lock when
// the process ends, so the slot becomes free.
struct shared_event_table {
  static constexpr std::uint64_t expected_magic = 0x32'64'72'61'6f'62'72'77;  // "wrboard2"
  static constexpr std::size_t capacity = (std::size_t{1} << 14) - 1;

  std::uint64_t magic;
  std::uint64_t identity;  // unique among tables
  std::int32_t process;
  std::uint32_t reserved[11];
  std::array<shared_event_slot, capacity> slots;

  // Returns the table of this process, which the first call creates. Returns null if the system
  // cannot create it. Throws std::bad_alloc.
  [[nodiscard]] static shared_event_table* local_table();
  // Returns the file descriptor of local_table(), by which other processes open the table. Returns
  // a negative number if the system cannot create the table. Throws std::bad_alloc.
  [[nodiscard]] static int local_descriptor();

  // Opens the table of another process. Returns null if the descriptor is not the expected table.
  // Throws std::bad_alloc.
  [[nodiscard]] static shared_event_table* open(pid_t process, int fd, std::uint64_t identity);

  // Claims a slot for a new event, with one reference. The table must be that of this process.
  // Returns null if the table is full. Throws std::bad_alloc.
  [[nodiscard]] shared_event_slot* claim();

  // Adds a reference of this process to the slot with index `number` of another process's table.
  // Returns null if the slot no longer belongs to the event with this ID. Throws std::bad_alloc.
  [[nodiscard]] shared_event_slot* open_slot(std::size_t number, unsigned long long id);

  // Releases one reference of this process to a slot of any table.
  static void release_slot(shared_event_slot& slot) noexcept;

  [[nodiscard]] int index_of(const shared_event_slot& slot) const noexcept {
    return static_cast<int>(&slot - slots.data());
  }
};

// Returns true if a process has ended, even if its parent has not waited for it.
[[nodiscard]] bool has_ended(pid_t process) noexcept;

}  // namespace weir::embedded::model
