// SPDX-License-Identifier: Apache-2.0
// support/peer.hpp - tests with two processes: the other one is a copy of the test program that
// runs a role.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <type_traits>

namespace weir::test {

// A channel between the two processes. Values arrive in order, in pieces of equal size.
class peer_channel {
 public:
  explicit peer_channel(int socket) noexcept : socket_{socket} {}

  template <class Value>
  void send(const Value& value) const {
    static_assert(std::is_trivially_copyable_v<Value>);
    send_bytes(&value, sizeof value);
  }

  // Waits up to a minute for a value. Returns false if the other process has ended.
  template <class Value>
  [[nodiscard]] bool try_receive(Value& value) const {
    static_assert(std::is_trivially_copyable_v<Value>);
    return receive_bytes(&value, sizeof value);
  }

  // Like the other receive(), but throws if no value arrives.
  template <class Value>
  [[nodiscard]] Value receive() const {
    Value value;
    if (!try_receive(value)) throw_missing_message();
    return value;
  }

  // Sends a file descriptor. The receiver gets its own descriptor.
  void send_descriptor(int fd) const;
  [[nodiscard]] int receive_descriptor() const;

 protected:
  [[noreturn]] static void throw_missing_message();

  int socket_;

 private:
  void send_bytes(const void* bytes, std::size_t count) const;
  bool receive_bytes(void* bytes, std::size_t count) const;
};

// The other process, started with exec, so weir is unused in it. It ends when its role returns; a
// role blocked in receive() ends with this object.
class peer : public peer_channel {
 public:
  explicit peer(const char* role);
  peer(const peer&) = delete;
  peer& operator=(const peer&) = delete;
  ~peer();

  // Waits until the process has ended. Returns its exit status, or -1 if a signal ended it.
  int wait();

 private:
  pid_t pid_ = -1;
};

// A role; its name is unique in the program.
class peer_role {
 public:
  using role_function = void (*)(const peer_channel& to_test);
  peer_role(const char* name, role_function run) noexcept;

  // Runs the role that this process was started for. Returns false if there is none.
  static bool run_if_requested(int& exit_status);

 private:
  const char* name_;
  role_function run_;
  peer_role* next_;
};

}  // namespace weir::test

// WEIR_PEER_ROLE(name) { ... } - the code of the other process; `test` is the channel to the test.
// It has no expectations of its own: it sends its results.
#define WEIR_PEER_ROLE(role)                                                            \
  static void weir_peer_##role(const ::weir::test::peer_channel&);                      \
  static const ::weir::test::peer_role weir_peer_role_##role{#role, &weir_peer_##role}; \
  static void weir_peer_##role([[maybe_unused]] const ::weir::test::peer_channel& test)
