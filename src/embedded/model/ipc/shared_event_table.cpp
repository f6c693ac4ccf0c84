// SPDX-License-Identifier: Apache-2.0
// embedded/model/ipc/shared_event_table.cpp - the event tables of this process and of other
// processes.
#include "embedded/model/ipc/shared_event_table.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <deque>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "embedded/model/memory/address_map.hpp"
#include "os/shared_memory.hpp"

namespace weir::embedded::model {

namespace {

// A mapped table, and the number of references that this process has to each of its slots.
struct mapped_table {
  shared_event_table* table = nullptr;
  // Closed by open() once the process that made the table has ended, because locks of its slots no
  // longer matter.
  os::shared_memory segment;
  // The number of event objects of this process for each slot index that has any.
  std::unordered_map<int, std::size_t> users;
};

// The tables of this process and of other processes. Never destroyed, because events may outlive
// static objects.
struct mapped_tables {
  std::mutex mutex;  // guards the members below
  std::deque<mapped_table> mappings;
  mapped_table* local_table = nullptr;
  std::size_t next = 0;  // the slot of this process's table that claim() tries next
};

mapped_tables& tables() {
  static mapped_tables& created = *new mapped_tables;
  return created;
}

// Locks or unlocks the byte of a slot. Returns false if another process holds the lock. The lock
// belongs to the open file description; each process that maps the table has its own.
bool lock_slot(const mapped_table& table, int number, short lock_type) noexcept {
  struct flock byte {};
  byte.l_type = lock_type;
  byte.l_whence = SEEK_SET;
  byte.l_start = number;
  byte.l_len = 1;
  return fcntl(table.segment.fd(), F_OFD_SETLK, &byte) == 0;
}

// Creates the table of this process. Leaves `out` empty if the system cannot create it.
void create_local(mapped_table& out) noexcept {
  os::shared_memory segment = os::shared_memory::create(sizeof(shared_event_table), "weir-events");
  if (!segment) return;
  os::shared_pages pages = segment.map(0, sizeof(shared_event_table));
  if (!pages) return;
  auto* const table = reinterpret_cast<shared_event_table*>(pages.get());
  if (getrandom(&table->identity, sizeof table->identity, 0) != sizeof table->identity) return;
  table->process = getpid();
  table->magic = shared_event_table::expected_magic;
  pages.release();  // the table stays mapped until the process ends
  out.table = table;
  out.segment = std::move(segment);
}

mapped_table& local_mapping() {
  const std::lock_guard lock{tables().mutex};
  if (tables().local_table == nullptr) tables().local_table = &tables().mappings.emplace_back();
  // A failed creation is tried again, because the process may have had no free file descriptor.
  if (tables().local_table->table == nullptr) create_local(*tables().local_table);
  return *tables().local_table;
}

// Returns the mapping of the table that holds a slot, or null. The caller holds
// mapped_tables::mutex.
mapped_table* find_holding(const shared_event_slot& slot) noexcept {
  for (mapped_table& mapping : tables().mappings) {
    if (mapping.table == nullptr) continue;
    const shared_event_slot* const first = mapping.table->slots.data();
    if (&slot >= first && &slot < first + shared_event_table::capacity) return &mapping;
  }
  return nullptr;
}

// Returns true if the last record of a slot's event is complete. Completes a record that would
// never become complete, because its process has ended.
bool is_idle(shared_event_slot& slot) noexcept {
  const event_ticket last = slot.last.load(std::memory_order_acquire);
  if (slot.complete(last.number)) return true;
  if (!has_ended(last.process)) return false;
  slot.complete_up_to(last.number);
  return true;
}

}  // namespace

shared_event_table* shared_event_table::local_table() { return local_mapping().table; }

int shared_event_table::local_descriptor() { return local_mapping().segment.fd(); }

shared_event_table* shared_event_table::open(pid_t process, int fd, std::uint64_t identity) {
  const std::lock_guard lock{tables().mutex};
  os::shared_memory segment = os::shared_memory::duplicate_from(process, fd);
  if (!segment.is_sealed() || segment.bytes() != sizeof(shared_event_table)) return nullptr;
  for (const mapped_table& mapping : tables().mappings) {
    if (mapping.table != nullptr && mapping.table->identity == identity) return mapping.table;
  }
  os::shared_pages pages = segment.map(0, sizeof(shared_event_table));
  if (!pages) return nullptr;
  auto* const table = reinterpret_cast<shared_event_table*>(pages.get());
  if (table->magic != expected_magic || table->identity != identity) return nullptr;
  for (mapped_table& mapping : tables().mappings) {
    if (mapping.table != nullptr && has_ended(mapping.table->process)) mapping.segment = {};
  }
  mapped_table& created = tables().mappings.emplace_back();
  pages.release();  // the table stays mapped until the process ends
  created.table = table;
  created.segment = std::move(segment);
  return table;
}

// A slot is free if no process has its event open and the event's last record is complete. As on a
// GPU, the handle of a destroyed event stays valid until another event gets the slot.
shared_event_slot* shared_event_table::claim() {
  const std::lock_guard lock{tables().mutex};
  mapped_table& local_table = *tables().local_table;
  for (std::size_t probes = 0; probes < capacity; ++probes) {
    const auto number = static_cast<int>(tables().next);
    shared_event_slot& slot = slots[tables().next];
    tables().next = (tables().next + 1) % capacity;
    if (local_table.users.contains(number) || !is_idle(slot)) continue;
    const auto user = local_table.users.emplace(number, 1).first;  // the last call that may throw
    const bool is_locked = lock_slot(local_table, number, F_WRLCK);
    // Another process may have recorded the event and released the slot in between.
    if (!is_locked || !is_idle(slot)) {
      if (is_locked) lock_slot(local_table, number, F_UNLCK);
      local_table.users.erase(user);
      continue;
    }
    slot.first.store(slot.last.load(std::memory_order_acquire).number, std::memory_order_relaxed);
    slot.id.store(address_map::next_id(), std::memory_order_release);
    lock_slot(local_table, number, F_UNLCK);
    return &slot;
  }
  return nullptr;
}

shared_event_slot* shared_event_table::open_slot(std::size_t number, unsigned long long id) {
  const std::lock_guard lock{tables().mutex};
  if (number >= capacity) return nullptr;
  mapped_table* const mapping = find_holding(slots[number]);
  if (mapping == nullptr) return nullptr;
  const auto key = static_cast<int>(number);
  // Only the first reference of this process takes the file lock.
  const auto [entry, is_first] = mapping->users.try_emplace(key, 0);
  const bool is_locked = !is_first || lock_slot(*mapping, key, F_RDLCK);
  if (is_locked && slots[number].id.load(std::memory_order_acquire) == id) {
    ++entry->second;
    return &slots[number];
  }
  if (is_first) {
    mapping->users.erase(entry);
    if (is_locked) lock_slot(*mapping, key, F_UNLCK);
  }
  return nullptr;
}

void shared_event_table::release_slot(shared_event_slot& slot) noexcept {
  const std::lock_guard lock{tables().mutex};
  mapped_table& mapping = *find_holding(slot);  // tables stay mapped
  const int number = mapping.table->index_of(slot);
  const auto user = mapping.users.find(number);
  if (user == mapping.users.end() || --user->second != 0) return;
  mapping.users.erase(user);
  // claim() locks a slot of this process's own table only for a moment.
  if (&mapping != tables().local_table) lock_slot(mapping, number, F_UNLCK);
}

bool has_ended(pid_t process) noexcept {
  if (process == getpid()) return false;
  const int fd = static_cast<int>(syscall(SYS_pidfd_open, process, 0));
  if (fd < 0) return errno == ESRCH;
  pollfd process_exit{fd, POLLIN, 0};
  const bool has_exited = poll(&process_exit, 1, 0) > 0;
  close(fd);
  return has_exited;
}

}  // namespace weir::embedded::model
