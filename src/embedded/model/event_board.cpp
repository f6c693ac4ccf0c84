// model/event_board.cpp - the boards of this process and of others.
#include "embedded/model/event_board.hpp"

#include <poll.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <mutex>
#include <vector>

#include "embedded/model/address_map.hpp"
#include "embedded/model/shared_memory.hpp"

namespace weir::embedded::model {

namespace {

struct own_board {
  shared_memory segment;
  event_board* board = nullptr;
};

own_board make_own() noexcept {
  shared_memory segment = shared_memory::create(sizeof(event_board), "weir-events");
  if (!segment) return {};
  auto* board = static_cast<event_board*>(segment.map(0, sizeof(event_board)));
  if (board == nullptr) return {};
  if (getrandom(&board->identity, sizeof board->identity, 0) != sizeof board->identity) {
    munmap(board, sizeof(event_board));
    return {};
  }
  board->process = getpid();
  board->mark = event_board::right_mark;
  return {std::move(segment), board};
}

const own_board& the_own() noexcept {
  // Never destroyed: events may outlive static objects.
  static const own_board& made = *new own_board{make_own()};
  return made;
}

}  // namespace

event_board* event_board::own() noexcept { return the_own().board; }

int event_board::own_descriptor() noexcept { return the_own().segment.fd(); }

event_board* event_board::of(pid_t process, int fd, std::uint64_t identity) {
  static constinit std::mutex mutex;
  static std::vector<event_board*>& known = *new std::vector<event_board*>;
  const std::lock_guard lock{mutex};
  const shared_memory segment = shared_memory::of_process(process, fd);
  if (!segment.is_sealed() || segment.bytes() != sizeof(event_board)) return nullptr;
  for (event_board* board : known) {
    if (board->identity == identity) return board;
  }
  known.reserve(known.size() + 1);
  auto* board = static_cast<event_board*>(segment.map(0, sizeof(event_board)));
  if (board == nullptr) return nullptr;
  if (board->mark != right_mark || board->identity != identity) {
    munmap(board, sizeof(event_board));
    return nullptr;
  }
  known.push_back(board);
  return board;
}

// A place is free again when nobody has its event, and the last record of that is complete. Until another event gets the
// place the old one can be opened: its handle outlives it, as on a GPU.
event_place* event_board::claim() noexcept {
  static constinit std::mutex mutex;
  static std::size_t next = 0;  // behind the last one that was found: those after it have been free for longest
  constexpr std::int32_t changing = std::int32_t{1} << 30;
  const std::lock_guard lock{mutex};
  for (std::size_t looks = 0; looks < capacity; ++looks) {
    event_place& place = places[next];
    next = (next + 1) % capacity;
    if (!place.complete(place.recorded.load(std::memory_order_acquire))) continue;
    std::int32_t nobody = 0;
    if (!place.users.compare_exchange_strong(nobody, -changing, std::memory_order_acq_rel)) continue;
    place.first.store(place.recorded.load(std::memory_order_acquire), std::memory_order_relaxed);
    place.id.store(address_map::next_id(), std::memory_order_release);
    place.users.fetch_add(changing + 1, std::memory_order_acq_rel);
    return &place;
  }
  return nullptr;
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
