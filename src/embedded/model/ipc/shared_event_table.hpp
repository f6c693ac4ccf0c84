// SPDX-License-Identifier: Apache-2.0
// embedded/model/ipc/shared_event_table.hpp - a table of the events that processes share.
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace weir::embedded::model {

// A record of an event: its number within the slot, and the process that made it.
struct alignas(8) event_ticket {
  std::uint32_t number = 0;
  std::int32_t process = 0;
};
static_assert(std::atomic<event_ticket>::is_always_lock_free, "processes share it");

// The state of one event, shared by all processes. Each record takes the next ticket and completes
// it in stream order. Completing a ticket completes all earlier ones, like a counting semaphore of
// a GPU. Numbers wrap around and continue from one event of the slot to the next, so a late
// completion has no effect.
struct alignas(64) shared_event_slot {
  std::atomic<unsigned long long> id{0};  // of the current or last event; 0 before the first
  // Number and process in one atomic, so that each of two concurrent records sees its predecessor.
  std::atomic<event_ticket> last{};
  std::atomic<std::uint32_t> completed{0};
  std::atomic<std::uint32_t> first{0};  // the last ticket before the event was made

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

// The slots for events that one process makes, in a segment that other processes open. An opened
// table stays mapped until the process ends, because submitted work may still refer to it. It only
// uses memory for touched pages.
//
// Each other process that has an event holds a file lock on the slot's byte in the segment. The
// system releases the lock when the process ends, so no slot is lost.
struct shared_event_table {
  static constexpr std::uint64_t expected_magic = 0x32'64'72'61'6f'62'72'77;  // "wrboard2"
  static constexpr std::size_t capacity = (std::size_t{1} << 14) - 1;

  std::uint64_t magic;
  std::uint64_t identity;  // unique among tables
  std::int32_t process;
  std::uint32_t reserved[11];
  std::array<shared_event_slot, capacity> slots;

  // Return the table of this process, created at the first call, and its descriptor. Return null or
  // an invalid descriptor if the system cannot create it. Throws std::bad_alloc.
  [[nodiscard]] static shared_event_table* local_table();
  [[nodiscard]] static int local_descriptor();

  // Opens the table of another process. Returns null if the descriptor is not the expected table.
  // Throws std::bad_alloc.
  [[nodiscard]] static shared_event_table* open(pid_t process, int fd, std::uint64_t identity);

  // Claims a slot of this process's table for a new event, with one reference. Returns null if the
  // table is full. Throws std::bad_alloc.
  [[nodiscard]] shared_event_slot* claim();

  // Adds a reference of this process to a slot of another process. Returns null if the event with
  // this ID no longer exists. Throws std::bad_alloc.
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
