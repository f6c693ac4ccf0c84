// support/peer.hpp - tests with two processes: the other one is a copy of the test program that
// plays a role.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <type_traits>

namespace weir::test {

// A line between the two processes. What is sent is received in that order, in pieces of the same
// size.
class peer_channel {
 public:
  explicit peer_channel(int socket) noexcept : socket_{socket} {}

  template <class Value>
  void send(const Value& value) const {
    static_assert(std::is_trivially_copyable_v<Value>);
    send_bytes(&value, sizeof value);
  }

  // Waits for it, for a minute. False if the other process has ended.
  template <class Value>
  [[nodiscard]] bool try_receive(Value& value) const {
    static_assert(std::is_trivially_copyable_v<Value>);
    return receive_bytes(&value, sizeof value);
  }

  // Throws where there is nothing to come.
  template <class Value>
  [[nodiscard]] Value receive() const {
    Value value;
    if (!try_receive(value)) throw_missing_message();
    return value;
  }

  // A file descriptor; the one that is received is the receiver's own.
  void send_descriptor(int fd) const;
  [[nodiscard]] int receive_descriptor() const;

 protected:
  [[noreturn]] static void throw_missing_message();

  int socket_;

 private:
  void send_bytes(const void* bytes, std::size_t count) const;
  bool receive_bytes(void* bytes, std::size_t count) const;
};

// The other process, started anew: nothing of weir has been used in it. It ends when its role does;
// a role that is in the middle of receive() ends with this object.
class peer : public peer_channel {
 public:
  explicit peer(const char* role);
  peer(const peer&) = delete;
  peer& operator=(const peer&) = delete;
  ~peer();

  // Waits until it has ended. Its exit status; -1 where a signal ended it.
  int wait();

 private:
  pid_t pid_ = -1;
};

// A role, known by its name in the whole program.
class peer_role {
 public:
  using role_function = void (*)(const peer_channel& to_test);
  peer_role(const char* name, role_function run) noexcept;

  // Plays the role that this process was started for. False if it was started for none.
  static bool run_if_requested(int& exit_status);

 private:
  const char* name_;
  role_function run_;
  peer_role* next_;
};

}  // namespace weir::test

// WEIR_PEER_ROLE(name) { ... } - what the other process does; `test` is the line to the one that
// started it. It has no expectations of its own: what it sees, it sends.
#define WEIR_PEER_ROLE(role)                                                            \
  static void weir_peer_##role(const ::weir::test::peer_channel&);                      \
  static const ::weir::test::peer_role weir_peer_role_##role{#role, &weir_peer_##role}; \
  static void weir_peer_##role([[maybe_unused]] const ::weir::test::peer_channel& test)
