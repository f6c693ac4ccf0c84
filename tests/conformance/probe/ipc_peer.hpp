// probe/ipc_peer.hpp - another process of this program that opens the handles it is sent.
#pragma once

#include <cstddef>
#include <string>

#include <sys/types.h>

namespace weir::conformance {

std::string to_hex(const void* p, size_t n);
bool from_hex(const std::string& s, void* p, size_t n);

// The process, asked one line at a time. It ends with its owner.
class Peer {
 public:
  Peer();
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;
  ~Peer();

  void send(const std::string& line);
  std::string receive(int ms = 5000);  // "no_answer" after ms, "gone" if it ended
  std::string ask(const std::string& line, int ms = 5000);

 private:
  pid_t pid_ = -1;
  int in_ = -1, out_ = -1;
};

// Its whole life: answers "init", "event <handle>", "query", "sync", "record", "destroy", "mem <handle>", "read",
// "write <value>" and "close", each with a result or a value.
int ipc_peer_main();

}  // namespace weir::conformance
