// SPDX-License-Identifier: Apache-2.0
// weir/interop/stdexec.hpp - completions and futures as senders, and streams as schedulers: for
// std::execution (C++26) if the standard library has it, else for stdexec.
#pragma once

#include <weir/completion/completion.hpp>
#include <weir/completion/future.hpp>
#include <weir/core/call_site.hpp>
#include <weir/interop/detail/stdexec_library.hpp>
#include <weir/interop/detail/stdexec_operation.hpp>
#include <weir/stream/stream.hpp>

#include <concepts>
#include <tuple>
#include <utility>

namespace weir {

namespace detail {

/// Source of an operation that waits for a completion (stdexec_operation.hpp).
struct completion_source {
  static constexpr bool may_complete_inline = true;
  using signatures = signatures_of<>;
  template <class Receiver>
  using operation_concept = operation_concept_type<Receiver>;

  [[nodiscard]] completion awaited() const noexcept { return source; }
  [[nodiscard]] std::tuple<> take_values() const noexcept { return {}; }

  completion source;
  call_site at;
};

/// Source of an operation that waits for a future and takes its value.
template <class T>
struct future_source {
  static constexpr bool may_complete_inline = true;
  using signatures = signatures_of<T>;
  template <class Receiver>
  using operation_concept = operation_concept_type<Receiver, T>;

  [[nodiscard]] completion awaited() const { return completion_of(source, "weir::as_sender", at); }
  [[nodiscard]] std::tuple<T> take_values() { return std::tuple<T>{take_value(source)}; }

  future<T> source;
  call_site at;
};

/// Source of an operation that waits for all work that is queued in the stream when the operation
/// starts. set_value() is never called inside start(), because a scheduler must call it on its own
/// threads.
struct stream_source {
  static constexpr bool may_complete_inline = false;
  using signatures = signatures_of<>;
  template <class Receiver>
  using operation_concept = operation_concept_type<Receiver>;

  [[nodiscard]] completion awaited() const { return source.completion(at); }
  [[nodiscard]] std::tuple<> take_values() const noexcept { return {}; }

  stream_ref source;
  call_site at;
};

/// A sender whose operations wait for what `Source` names.
template <class Source>
class device_sender {
 public:
  using sender_concept = sender_concept_type;
  using completion_signatures = typename Source::signatures;
  template <class, class...>
  static consteval completion_signatures get_completion_signatures() noexcept {
    return {};
  }

  explicit device_sender(Source source) noexcept : source_{std::move(source)} {}

  template <class Receiver>
  [[nodiscard]] sender_operation<Receiver, Source> connect(Receiver receiver) && {
    return {std::move(receiver), std::move(source_)};
  }
  template <class Receiver>
  requires std::copy_constructible<Source>
  [[nodiscard]] sender_operation<Receiver, Source> connect(Receiver receiver) const& {
    return {std::move(receiver), Source{source_}};
  }

 protected:
  Source source_;
};

}  // namespace detail

/// Creates a sender that completes without a value when the work has finished.
///
/// It completes with set_error(std::exception_ptr) if co_await of the completion would throw: with
/// the weir::error of the failed work, or the exception of a host function of the stream. It
/// completes with set_stopped() if a stop is requested through the receiver's stop token; that ends
/// the wait, never the work. The sender completes on a reactor thread, inside the stop request, or
/// in start(): if the work has finished by then, a stop was requested before, or starting the wait
/// fails. No memory is allocated.
///
///   stdexec::sync_wait(weir::as_sender(s.completion())
///                      | stdexec::then([&] { return sum(x.data()); }));
///
/// In a capture: allowed.
/// In a host function: allowed.
/// Thread safety: as completions.
[[nodiscard]] inline auto as_sender(completion awaited,
                                    call_site at = call_site::current()) noexcept {
  return detail::device_sender{detail::completion_source{awaited, at}};
}

/// Creates a sender from a future, which is moved in. The sender completes with the future's value.
/// Connect it once, as an rvalue. If the wait is stopped, the future is destroyed, and its value is
/// destroyed when the work is done. Otherwise like as_sender() of a completion.
template <detail::value_type T>
[[nodiscard]] auto as_sender(future<T>&& awaited, call_site at = call_site::current()) noexcept {
  return detail::device_sender{detail::future_source<T>{std::move(awaited), at}};
}

/// A scheduler that runs continuations in the order of a stream. The sender of schedule() completes
/// when all work that was queued in the stream before start() has finished. It completes with a
/// value only on a reactor thread, which continuations must not block. It completes with errors and
/// stops as as_sender() does, and with an error if the stream captures. Borrows the stream.
/// Schedulers are equal if their streams are equal.
///
///   auto rest = stdexec::schedule(weir::stream_scheduler{s})
///             | stdexec::then([&] { return sum(x.data()); });
class stream_scheduler {
  class schedule_sender;

 public:
  using scheduler_concept = detail::scheduler_concept_type;

  /// Creates a scheduler for a stream.
  explicit stream_scheduler(stream_ref s, call_site at = call_site::current()) noexcept
      : stream_{s}, at_{at} {}

  /// Returns a sender for the work that is queued when it is started.
  [[nodiscard]] schedule_sender schedule() const noexcept;

  friend bool operator==(const stream_scheduler& a, const stream_scheduler& b) noexcept {
    return a.stream_ == b.stream_;
  }

 private:
  stream_ref stream_;
  call_site at_;
};

/// The sender that schedule() returns.
class stream_scheduler::schedule_sender : public detail::device_sender<detail::stream_source> {
 public:
  using device_sender::device_sender;

  struct attributes {
    /// Says that set_value() is called by this scheduler. set_error() and set_stopped() may be
    /// called on other threads.
    template <class... Env>
    [[nodiscard]] stream_scheduler query(
        detail::senders::get_completion_scheduler_t<detail::senders::set_value_t>,
        const Env&...) const noexcept {
      return scheduler;
    }
    stream_scheduler scheduler;
  };
  [[nodiscard]] attributes get_env() const noexcept {
    return {stream_scheduler{source_.source, source_.at}};
  }
};

inline stream_scheduler::schedule_sender stream_scheduler::schedule() const noexcept {
  return schedule_sender{detail::stream_source{stream_, at_}};
}

}  // namespace weir
