// SPDX-License-Identifier: Apache-2.0
// Lesson 13: two processes on one device: they share memory and pass it back and forth with an
// event.
//
// The memory is not copied, and the host does not wait in between.
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <vector>
#include <weir/weir.hpp>

extern char** environ;

namespace {

constexpr std::size_t size = 1 << 16;
constexpr std::uint32_t rounds = 4;

// The message to the other process: handles are plain bytes.
struct invitation {
  weir::ipc_memory_handle memory;
  weir::ipc_event_handle turn;
};

template <class Value>
void send(int line, const Value& value) {
  if (write(line, &value, sizeof value) != sizeof value)
    throw std::runtime_error{"the other process is gone"};
}

template <class Value>
Value receive(int line) {
  Value value;
  if (recv(line, &value, sizeof value, MSG_WAITALL) != sizeof value)
    throw std::runtime_error{"nothing to hear"};
  return value;
}

// The other process fills the memory in each round.
void help(int line) {
  const auto [memory_name, turn_name] = receive<invitation>(line);
  auto shared = weir::ipc_buffer<std::uint32_t>::open(memory_name);
  const auto turn = weir::ipc_event::open(turn_name, weir::device{});
  const weir::stream s{weir::device{}};
  for (std::uint32_t round = 1; round <= rounds; ++round) {
    receive<char>(line);  // the maker's work is queued, but not necessarily done
    s.wait(turn);
    weir::fill(s, shared, 100 + round);
    s.record(turn);
    send(line, 'q');  // this process's work is queued, too
  }
  s.sync();
}

// The first process creates the memory and the event, passes them to the other process, and checks
// each round's result.
std::uint32_t make(int line) {
  const weir::stream s{weir::device{}};
  weir::ipc_buffer<std::uint32_t> shared{size};
  const weir::ipc_event turn{weir::device{}};
  send(line, invitation{shared.handle(), turn.handle()});
  std::vector<std::uint32_t> seen(size);
  std::uint32_t right = 0;
  for (std::uint32_t round = 1; round <= rounds; ++round) {
    weir::fill(s, shared, 0u);
    s.record(turn);
    send(line, 'q');
    receive<char>(line);
    s.wait(turn);  // the device waits for the other process's work, and the host does not
    weir::copy(s, shared, seen);
    s.sync();
    if (std::count(seen.begin(), seen.end(), 100 + round) == static_cast<std::ptrdiff_t>(size))
      ++right;
  }
  return right;
}

}  // namespace

// The other process runs this program, too. It is spawned and not forked: a forked child cannot use
// CUDA.
int main(int, char** arguments) {
  constexpr int line_of_helper = 3;
  if (arguments[1] != nullptr) {
    help(line_of_helper);
    return 0;
  }
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return 1;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], line_of_helper);
  char helper[] = "help";
  char* const words[] = {arguments[0], helper, nullptr};
  pid_t other = -1;
  if (posix_spawn(&other, "/proc/self/exe", &actions, nullptr, words, environ) != 0) return 1;
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);

  const std::uint32_t right = make(ends[0]);
  int status = 0;
  waitpid(other, &status, 0);
  std::printf("%u of %u rounds went through both processes\n", right, rounds);
  return right == rounds && status == 0 ? 0 : 1;
}
