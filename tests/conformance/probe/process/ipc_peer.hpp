// probe/ipc_peer.hpp - another process of this program: one that opens handles it is sent, and
// makes some to be opened.
#pragma once

#include "probe/record.hpp"

#include <cstddef>
#include <string>

#include <sys/types.h>

namespace weir::conformance {

std::string to_hex(const void* p, size_t n);
bool from_hex(const std::string& s, void* p, size_t n);

// The process, asked one line at a time (peer_commands.hpp says what it understands). It ends with
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

  // The same for what must go well: the case ends if it does not.
  void must(const std::string& line, int ms = 5000);

  // For an answer that is a handle.
  template <class Handle>
  Handle handle(const std::string& line) {
    Handle got;
    const std::string answer = request(line);
    if (!from_hex(answer, &got, sizeof got)) throw Abort{"peer_" + line + ":" + answer};
    return got;
  }

  // The file descriptor that it sent, to be closed by the caller; -1 if there is none.
  int descriptor();

  // Waits for its end after "exit" was sent.
  void wait_for_exit();

 private:
  pid_t pid_ = -1;
  int in_ = -1, out_ = -1, socket_ = -1;
};

// Its whole life.
int ipc_peer_main();

// Sends a file descriptor to the owner of this process.
bool send_descriptor(int fd);

}  // namespace weir::conformance
