// SPDX-License-Identifier: Apache-2.0
// probe/process/ipc_peer.cpp - the other process of the IPC cases, and the messages to it.
#include "probe/process/ipc_peer.hpp"

#include "probe/driver.hpp"
#include "probe/process/child.hpp"
#include "probe/process/peer_commands.hpp"
#include "probe/process/spawn.hpp"
#include "probe/time_limits.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

namespace weir::conformance {

std::string to_hex(const void* p, size_t n) {
  static const char* d = "0123456789abcdef";
  const auto* b = static_cast<const unsigned char*>(p);
  std::string o;
  for (size_t i = 0; i < n; i++) {
    o += d[b[i] >> 4];
    o += d[b[i] & 15];
  }
  return o;
}
bool from_hex(const std::string& s, void* p, size_t n) {
  if (s.size() != 2 * n) return false;
  auto* b = static_cast<unsigned char*>(p);
  for (size_t i = 0; i < n; i++) {
    unsigned v = 0;
    if (sscanf(s.c_str() + 2 * i, "%2x", &v) != 1) return false;
    b[i] = static_cast<unsigned char>(v);
  }
  return true;
}

Peer::Peer() {
  int to[2], from[2], sockets[2];
  if (pipe2(to, O_CLOEXEC) || pipe2(from, O_CLOEXEC)) throw Abort{"pipe"};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets)) throw Abort{"socketpair"};
  pid_ = spawn_self({"--ipc-peer"}, sockets[1], to[0], from[1]);
  close(to[0]);
  close(from[1]);
  close(sockets[1]);
  in_ = to[1];
  out_ = from[0];
  socket_ = sockets[0];
  if (pid_ < 0) throw Abort{"spawn"};
}

Peer::~Peer() {
  close(in_);
  close(out_);
  close(socket_);
  if (pid_ < 0) return;
  bool has_exited = false;
  reap(pid_, 200, &has_exited);
  if (has_exited) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

void Peer::send(const std::string& line) {
  const std::string s = line + "\n";
  if (write(in_, s.data(), s.size()) < 0) return;
}

std::string Peer::receive(int ms) {
  std::string line;
  const Clock::time_point begin = Clock::now();
  for (;;) {
    const int left = ms - static_cast<int>(seconds_since(begin) * 1000);
    if (left <= 0) return "no_answer";
    pollfd f{out_, POLLIN, 0};
    if (poll(&f, 1, left) <= 0) return "no_answer";
    char c;
    if (read(out_, &c, 1) <= 0) return "gone";
    if (c == '\n') return line;
    line += c;
  }
}

std::string Peer::request(const std::string& line, int ms) {
  send(line);
  return receive(ms);
}

void Peer::must(const std::string& line, int ms) {
  const std::string answer = request(line, ms);
  if (answer != result_name(CUDA_SUCCESS))
    throw Abort{"peer_" + line.substr(0, line.find(' ')) + ":" + answer};
}

void Peer::wait_for_exit() {
  send("exit");
  if (receive() != "gone") throw Abort{"peer_exit"};
  // The pipes close long before the driver has released the process's resources.
  bool has_exited = false;
  reap(pid_, 5000, &has_exited);
  if (!has_exited) throw Abort{"peer_stays"};
  pid_ = -1;
}

// A byte goes with the descriptor: a message of only control data may be lost.
int Peer::descriptor() {
  pollfd ready{socket_, POLLIN, 0};
  if (poll(&ready, 1, 1000) <= 0) return -1;
  char byte = 0;
  iovec data{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  if (recvmsg(socket_, &message, MSG_CMSG_CLOEXEC) != 1) return -1;
  const cmsghdr* first = CMSG_FIRSTHDR(&message);
  if (first == nullptr || first->cmsg_type != SCM_RIGHTS) return -1;
  int fd = -1;
  memcpy(&fd, CMSG_DATA(first), sizeof fd);
  return fd;
}

bool send_descriptor(int fd) {
  char byte = 0;
  iovec data{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* first = CMSG_FIRSTHDR(&message);
  first->cmsg_level = SOL_SOCKET;
  first->cmsg_type = SCM_RIGHTS;
  first->cmsg_len = CMSG_LEN(sizeof fd);
  memcpy(CMSG_DATA(first), &fd, sizeof fd);
  return sendmsg(kProtocolFd, &message, MSG_NOSIGNAL) == 1;
}

int ipc_peer_main() {
  signal(SIGPIPE, SIG_IGN);
  alarm(25);
  if (!load_library()) return 2;
  PeerCommands commands;
  char line[4096];
  while (fgets(line, sizeof line, stdin)) {
    std::string request_line(line);
    while (!request_line.empty() && (request_line.back() == '\n' || request_line.back() == '\r'))
      request_line.pop_back();
    const std::string answer = commands.answer(request_line) + "\n";
    if (write(1, answer.data(), answer.size()) < 0) _exit(1);
  }
  _exit(0);
}

}  // namespace weir::conformance
