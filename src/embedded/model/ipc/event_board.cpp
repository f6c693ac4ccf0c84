// model/event_board.cpp - the boards of this process and of others.
#include "embedded/model/ipc/event_board.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <deque>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "embedded/model/memory/address_map.hpp"
#include "embedded/model/ipc/shared_memory.hpp"

namespace weir::embedded::model {

namespace {

// A board that this process has, and what it has of it.
struct known_board {
  event_board* board = nullptr;
  shared_memory segment;                       // empty once the other process has ended: nobody asks who has its events
  std::unordered_map<int, std::size_t> users;  // how many event objects there are for each place
};

// Own and others'. Never destroyed: events may outlive static objects.
struct known_boards {
  std::mutex mutex;  // guards what follows
  std::deque<known_board> all;
  known_board* own = nullptr;
  std::size_t next = 0;  // of our own places: those from here on have been free for longest
};

known_boards& boards() {
  static known_boards& known = *new known_boards;
  return known;
}

// Locks a place's byte, or unlocks it. False if another process has it. The lock is the open segment's: all processes have
// opened it for themselves.
bool lock_place(const known_board& of, int number, short how) noexcept {
  struct flock byte {};
  byte.l_type = how;
  byte.l_whence = SEEK_SET;
  byte.l_start = number;
  byte.l_len = 1;
  return fcntl(of.segment.fd(), F_OFD_SETLK, &byte) == 0;
}

void make_own(known_board& out) noexcept {
  shared_memory segment = shared_memory::create(sizeof(event_board), "weir-events");
  if (!segment) return;
  auto* board = static_cast<event_board*>(segment.map(0, sizeof(event_board)));
  if (board == nullptr) return;
  if (getrandom(&board->identity, sizeof board->identity, 0) != sizeof board->identity) {
    munmap(board, sizeof(event_board));
    return;
  }
  board->process = getpid();
  board->mark = event_board::right_mark;
  out.board = board;
  out.segment = std::move(segment);
}

known_board& the_own() {
  known_boards& known = boards();
  const std::lock_guard lock{known.mutex};
  if (known.own == nullptr) known.own = &known.all.emplace_back();
  if (known.own->board == nullptr) make_own(*known.own);  // the system may have had no descriptor before
  return *known.own;
}

// With the lock held.
known_board* find(const event_board& board) noexcept {
  for (known_board& each : boards().all) {
    if (each.board == &board) return &each;
  }
  return nullptr;
}

// Is the last record of a place's event complete, or never will be?
bool is_at_rest(event_place& place) noexcept {
  const event_ticket last = place.last.load(std::memory_order_acquire);
  if (place.complete(last.number)) return true;
  if (!has_ended(last.process)) return false;
  place.complete_up_to(last.number);
  return true;
}

}  // namespace

event_board* event_board::own() { return the_own().board; }

int event_board::own_descriptor() { return the_own().segment.fd(); }

event_board* event_board::of(pid_t process, int fd, std::uint64_t identity) {
  known_boards& known = boards();
  const std::lock_guard lock{known.mutex};
  shared_memory segment = shared_memory::of_process(process, fd);
  if (!segment.is_sealed() || segment.bytes() != sizeof(event_board)) return nullptr;
  for (const known_board& each : known.all) {
    if (each.board != nullptr && each.board->identity == identity) return each.board;
  }
  auto* board = static_cast<event_board*>(segment.map(0, sizeof(event_board)));
  if (board == nullptr) return nullptr;
  if (board->mark != right_mark || board->identity != identity) {
    munmap(board, sizeof(event_board));
    return nullptr;
  }
  for (known_board& each : known.all) {
    if (each.board != nullptr && has_ended(each.board->process)) each.segment = {};
  }
  try {
    known_board& made = known.all.emplace_back();
    made.board = board;
    made.segment = std::move(segment);
  } catch (...) {
    munmap(board, sizeof(event_board));
    throw;
  }
  return board;
}

// A place is free again when nobody has its event, and the last record of that is complete. Until another event gets the
// place the old one can be opened: its handle outlives it, as on a GPU.
event_place* event_board::claim() {
  known_boards& known = boards();
  const std::lock_guard lock{known.mutex};
  known_board& own = *known.own;
  for (std::size_t looks = 0; looks < capacity; ++looks) {
    const auto number = static_cast<int>(known.next);
    event_place& place = places[known.next];
    known.next = (known.next + 1) % capacity;
    if (own.users.contains(number) || !is_at_rest(place) || !lock_place(own, number, F_WRLCK)) continue;
    if (!is_at_rest(place)) {  // recorded and left in between
      lock_place(own, number, F_UNLCK);
      continue;
    }
    try {
      own.users.emplace(number, 1);
    } catch (...) {
      lock_place(own, number, F_UNLCK);
      throw;
    }
    place.first.store(place.last.load(std::memory_order_acquire).number, std::memory_order_relaxed);
    place.id.store(address_map::next_id(), std::memory_order_release);
    lock_place(own, number, F_UNLCK);
    return &place;
  }
  return nullptr;
}

event_place* event_board::enter(std::size_t number, unsigned long long id) {
  const std::lock_guard lock{boards().mutex};
  known_board* const in = find(*this);
  if (in == nullptr || number >= capacity) return nullptr;
  const auto key = static_cast<int>(number);
  const auto [entry, first] = in->users.try_emplace(key, 0);
  const bool held = !first || lock_place(*in, key, F_RDLCK);
  if (held && places[number].id.load(std::memory_order_acquire) == id) {
    ++entry->second;
    return &places[number];
  }
  if (first) {
    in->users.erase(entry);
    if (held) lock_place(*in, key, F_UNLCK);
  }
  return nullptr;
}

void event_board::leave(event_place& place) noexcept {
  known_boards& known = boards();
  const std::lock_guard lock{known.mutex};
  for (known_board& in : known.all) {
    if (in.board == nullptr || &place < in.board->places.data() || &place >= in.board->places.data() + capacity)
      continue;
    const int number = in.board->number_of(place);
    const auto entry = in.users.find(number);
    if (entry == in.users.end() || --entry->second != 0) return;
    in.users.erase(entry);
    if (&in != known.own) lock_place(in, number, F_UNLCK);
    return;
  }
}

bool has_ended(pid_t process) noexcept {
  if (process == getpid()) return false;
  const int fd = static_cast<int>(syscall(SYS_pidfd_open, process, 0));
  if (fd < 0) return errno == ESRCH;
  pollfd ended{fd, POLLIN, 0};
  const bool gone = poll(&ended, 1, 0) > 0;
  close(fd);
  return gone;
}

}  // namespace weir::embedded::model
