// SPDX-License-Identifier: Apache-2.0
// weir/interop/detail/stdexec_operation.hpp - the operation state of weir's senders: waits for work
// of a device, then completes the receiver.
#pragma once

#include <weir/completion/completion.hpp>
#include <weir/core/errc.hpp>
#include <weir/detail/completion_access.hpp>
#include <weir/detail/completion_waiter.hpp>
#include <weir/interop/detail/stdexec_library.hpp>

#include <atomic>
#include <exception>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

namespace weir::detail {

/// The operation state of weir's senders. `Source` names the completion to wait for, and provides
/// the values. start() completes the receiver if starting the wait fails, if a stop was requested
/// before, or if the work is done already. Otherwise the reactor completes it, or a stop request
/// that has cancelled the wait.
/// A receiver with a stop token is an exception: start() still has to register the stop callback
/// after the wait has begun. If the wait ends before that, start() completes the receiver.
template <class Receiver, class Source>
class sender_operation : completion_waiter {
 public:
  using operation_state_concept = typename Source::template operation_concept<Receiver>;

  sender_operation(Receiver&& receiver, Source&& source)
      : receiver_{std::move(receiver)}, source_{std::move(source)} {}
  sender_operation(const sender_operation&) = delete;
  sender_operation& operator=(const sender_operation&) = delete;

  void start() & noexcept {
    const token stop = senders::get_stop_token(senders::get_env(receiver_));
    if (stop.stop_requested()) {
      senders::set_stopped(std::move(receiver_));
      return;
    }
    on_complete = &handle_completion;
    try {
      awaited_ = source_.awaited();
      if (queue() == nullptr || !add_waiter(*queue(), completion_access::ticket(awaited_), *this)) {
        state_.store(started);
        complete_without_wait();
        return;
      }
    } catch (...) {
      senders::set_error(std::move(receiver_), std::current_exception());
      return;
    }
    // without a stop token, another thread may have completed and destroyed the operation by now
    if constexpr (stoppable) {
      callback_.emplace(stop, stop_request{this});
      const unsigned state_before = state_.fetch_or(started);
      if ((state_before & cancelled) != 0) {
        complete_stopped();
      } else if ((state_before & completed) != 0) {
        complete_without_wait();
      }
    }
  }

 private:
  struct stop_request {
    sender_operation* operation;
    void operator()() const noexcept { operation->stop(); }
  };
  struct no_callback {
    void reset() noexcept {}
  };
  using token = stop_token_of<Receiver>;
  static constexpr bool stoppable = !senders::unstoppable_token<token>;
  using callback = std::conditional_t<
      stoppable, std::optional<typename token::template callback_type<stop_request>>, no_callback>;

  // The flags of state_.
  static constexpr unsigned started = 1;    // start() has set up the operation
  static constexpr unsigned completed = 2;  // the reactor has notified the waiter
  static constexpr unsigned cancelled = 4;  // a stop request has cancelled the wait

  [[nodiscard]] completion_queue* queue() const noexcept {
    return completion_access::queue(awaited_);
  }

  /// Called by start() when the outcome is known. Completes the receiver on the calling thread, or
  /// on a reactor thread if the source must not complete on the thread of start().
  void complete_without_wait() {
    if constexpr (Source::may_complete_inline) {
      complete();
    } else {
      post_completion(queue(), *this);
    }
  }

  static void handle_completion(completion_waiter& self, errc) noexcept {
    auto& me = static_cast<sender_operation&>(self);
    if (!stoppable || (me.state_.fetch_or(completed) & started) != 0) me.complete();
  }

  /// Called by a stop request on any thread.
  void stop() noexcept {
    if (!cancel_wait(*queue(), *this)) return;
    if ((state_.fetch_or(cancelled) & started) != 0) complete_stopped();
  }

  /// Completes the receiver with set_stopped().
  void complete_stopped() noexcept {
    callback_.reset();
    senders::set_stopped(std::move(receiver_));
  }

  /// Completes the receiver with the values or the error.
  void complete() noexcept {
    callback_.reset();  // waits for a stop request in progress
    std::exception_ptr failure;
    std::optional<decltype(source_.take_values())> values;
    try {
      throw_outcome(queue(), completion_access::ticket(awaited_), outcome, "weir::as_sender",
                    source_.at);
      values.emplace(source_.take_values());
    } catch (...) {
      failure = std::current_exception();
    }
    if (failure != nullptr) {
      senders::set_error(std::move(receiver_), std::move(failure));
    } else {
      std::apply(
          [this](auto&&... each) { senders::set_value(std::move(receiver_), std::move(each)...); },
          *std::move(values));
    }
  }

  Receiver receiver_;
  Source source_;
  completion awaited_;
  [[no_unique_address]] callback callback_;
  std::atomic<unsigned> state_{0};
};

}  // namespace weir::detail
