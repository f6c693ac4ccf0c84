// SPDX-License-Identifier: Apache-2.0
// receivers.hpp - receivers that record how and on which thread they were completed.
#pragma once

#include <weir/interop/stdexec.hpp>

#include <weir/completion/completion.hpp>

#include <stdexec/execution.hpp>

#include <exception>
#include <future>
#include <thread>
#include <utility>

namespace weir::test {

using completion_sender = decltype(as_sender(completion{}));

struct seen {
  std::promise<char> how;  // 'v', 'e' or 's'
  std::exception_ptr failure;
  std::thread::id where;

  void end(char with) {
    where = std::this_thread::get_id();
    how.set_value(with);
  }
};

template <class Token>
struct token_env {
  [[nodiscard]] Token query(stdexec::get_stop_token_t) const noexcept { return token; }
  Token token;
};

template <class Token = stdexec::never_stop_token>
struct probe {
  using receiver_concept = stdexec::receiver_tag;
  void set_value() && noexcept { to->end('v'); }
  void set_error(std::exception_ptr failure) && noexcept {
    to->failure = std::move(failure);
    to->end('e');
  }
  void set_stopped() && noexcept { to->end('s'); }
  [[nodiscard]] token_env<Token> get_env() const noexcept { return {token}; }
  seen* to;
  Token token{};
};
using stoppable_probe = probe<stdexec::inplace_stop_token>;

// An operation state cannot be moved, so it is constructed in place.
template <class Sender, class Receiver>
struct held_operation {
  held_operation(Sender from, Receiver to)
      : operation{stdexec::connect(std::move(from), std::move(to))} {}
  decltype(stdexec::connect(std::declval<Sender>(), std::declval<Receiver>())) operation;
};

}  // namespace weir::test
