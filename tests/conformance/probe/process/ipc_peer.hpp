// SPDX-License-Identifier: Apache-2.0
// probe/process/ipc_peer.hpp - another process of this program, which opens handles that it is sent
// and creates handles.
#pragma once

#include "probe/record.hpp"

#include <cstddef>
#include <string>

#include <sys/types.h>

namespace weir::conformance {

std::string to_hex(const void* p, size_t n);
bool from_hex(const std::string& s, void* p, size_t n);

// The other process; it receives one command per line (peer_commands.hpp lists them). It ends with
// its owner.
class Peer {
 public:
  Peer();
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;
  ~Peer();

  void send(const std::string& line);
  std::string receive(int ms = 5000);  // "no_answer" after ms, "gone" if it ended
  std::string request(const std::string& line, int ms = 5000);

  // Sends a command that must succeed; otherwise the case ends.
  void must(const std::string& line, int ms = 5000);

  // Sends a command whose reply is a handle.
  template <class Handle>
  Handle handle(const std::string& line) {
    Handle got;
    const std::string answer = request(line);
    if (!from_hex(answer, &got, sizeof got)) throw Abort{"peer_" + line + ":" + answer};
    return got;
  }

  // Returns the received file descriptor, which the caller closes; -1 if there is none.
  int descriptor();

  // Waits until the process has ended, after "exit" was sent.
  void wait_for_exit();

 private:
  pid_t pid_ = -1;
  int in_ = -1, out_ = -1, socket_ = -1;
};

// Runs the other process.
int ipc_peer_main();

// Sends a file descriptor to the owner of this process.
bool send_descriptor(int fd);

}  // namespace weir::conformance
