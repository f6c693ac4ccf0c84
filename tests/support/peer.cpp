// SPDX-License-Identifier: Apache-2.0
// support/peer.cpp - starts the other process, and exchanges messages with it.
#include "support/peer.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

extern char** environ;

namespace weir::test {

namespace {

constexpr const char* variable = "WEIR_TEST_ROLE";
constexpr int line_descriptor = 3;
constexpr int timeout_ms = 60'000;

peer_role*& first_role() noexcept {
  static peer_role* first = nullptr;
  return first;
}

// The message for one descriptor. It carries one byte, because control data alone may be lost.
struct descriptor_message {
  char byte = 0;
  iovec data{&byte, 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr header{};

  descriptor_message() noexcept {
    header.msg_iov = &data;
    header.msg_iovlen = 1;
    header.msg_control = control.data();
    header.msg_controllen = control.size();
  }
};

int start(const char* role, int socket) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, socket, line_descriptor);
  const std::string named = std::string{variable} + "=" + role;
  std::vector<char*> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) environment.push_back(*entry);
  environment.push_back(const_cast<char*>(named.c_str()));
  environment.push_back(nullptr);
  std::array<char*, 2> arguments{const_cast<char*>(role), nullptr};
  pid_t pid = -1;
  const int error =
      posix_spawn(&pid, "/proc/self/exe", &actions, nullptr, arguments.data(), environment.data());
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw std::runtime_error{"the other process cannot be started"};
  return pid;
}

}  // namespace

void peer_channel::throw_missing_message() {
  throw std::runtime_error{"the other process has ended, or says nothing"};
}

void peer_channel::send_bytes(const void* bytes, std::size_t count) const {
  if (::send(socket_, bytes, count, MSG_NOSIGNAL) != static_cast<ssize_t>(count))
    throw_missing_message();
}

bool peer_channel::receive_bytes(void* bytes, std::size_t count) const {
  auto* to = static_cast<char*>(bytes);
  while (count != 0) {
    pollfd ready{socket_, POLLIN, 0};
    if (poll(&ready, 1, timeout_ms) <= 0) return false;
    const ssize_t got = recv(socket_, to, count, 0);
    if (got <= 0) return false;
    to += got;
    count -= static_cast<std::size_t>(got);
  }
  return true;
}

void peer_channel::send_descriptor(int fd) const {
  descriptor_message message;
  cmsghdr* control = CMSG_FIRSTHDR(&message.header);
  control->cmsg_level = SOL_SOCKET;
  control->cmsg_type = SCM_RIGHTS;
  control->cmsg_len = CMSG_LEN(sizeof fd);
  std::memcpy(CMSG_DATA(control), &fd, sizeof fd);
  if (sendmsg(socket_, &message.header, MSG_NOSIGNAL) != 1) throw_missing_message();
}

int peer_channel::receive_descriptor() const {
  descriptor_message message;
  pollfd ready{socket_, POLLIN, 0};
  if (poll(&ready, 1, timeout_ms) <= 0) throw_missing_message();
  if (recvmsg(socket_, &message.header, MSG_CMSG_CLOEXEC) != 1) throw_missing_message();
  const cmsghdr* control = CMSG_FIRSTHDR(&message.header);
  if (control == nullptr || control->cmsg_type != SCM_RIGHTS) throw_missing_message();
  int fd = -1;
  std::memcpy(&fd, CMSG_DATA(control), sizeof fd);
  return fd;
}

peer::peer(const char* role) : peer_channel{-1} {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) throw_missing_message();
  socket_ = ends[0];
  try {
    pid_ = start(role, ends[1]);
  } catch (...) {
    close(ends[0]);
    close(ends[1]);
    throw;
  }
  close(ends[1]);
}

peer::~peer() {
  close(socket_);
  wait();
}

int peer::wait() {
  if (pid_ < 0) return 0;
  int status = 0;
  waitpid(std::exchange(pid_, -1), &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

peer_role::peer_role(const char* name, role_function run) noexcept
    : name_{name}, run_{run}, next_{std::exchange(first_role(), this)} {}

bool peer_role::run_if_requested(int& exit_status) {
  const char* wanted = std::getenv(variable);
  if (wanted == nullptr) return false;
  alarm(120);  // the test must not wait for it indefinitely
  exit_status = 2;
  for (const peer_role* role = first_role(); role != nullptr; role = role->next_) {
    if (std::strcmp(role->name_, wanted) != 0) continue;
    try {
      role->run_(peer_channel{line_descriptor});
      exit_status = 0;
    } catch (const std::exception& failed) {
      std::fprintf(stderr, "%s: %s\n", wanted, failed.what());
      exit_status = 1;
    }
  }
  return true;
}

}  // namespace weir::test
