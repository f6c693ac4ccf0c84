// weir/interop/stdexec.hpp - completions and futures as senders, and streams as schedulers: for
// std::execution of C++26 where the standard library has it, else for stdexec.
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

struct completion_source {
  static constexpr bool may_complete_inline = true;
  using signatures = signatures_of<>;
  template <class Receiver>
  using operation_concept = operation_concept_type<Receiver>;

  [[nodiscard]] completion awaited() const noexcept { return source; }
  [[nodiscard]] std::tuple<> take() const noexcept { return {}; }

  completion source;
  call_site at;
};

template <class T>
struct future_source {
  static constexpr bool may_complete_inline = true;
  using signatures = signatures_of<T>;
  template <class Receiver>
  using operation_concept = operation_concept_type<Receiver, T>;

  [[nodiscard]] completion awaited() const { return completion_of(source, "weir::as_sender", at); }
  [[nodiscard]] std::tuple<T> take() { return std::tuple<T>{take_value(source)}; }

  future<T> source;
  call_site at;
};

// All that the stream has when the operation starts.
struct stream_source {
  static constexpr bool may_complete_inline = false;
  using signatures = signatures_of<>;
  template <class Receiver>
  using operation_concept = operation_concept_type<Receiver>;

  [[nodiscard]] completion awaited() const { return source.completion(at); }
  [[nodiscard]] std::tuple<> take() const noexcept { return {}; }

  stream_ref source;
  call_site at;
};

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

// Completes when the work is done, with no value; with set_error(std::exception_ptr) as co_await
// throws: the weir::error that the work failed with, or what a host function of the stream has
// thrown; and with set_stopped() when the receiver's stop token is asked for that, which ends the
// wait and never the work. That happens on a thread of the reactor's, in start() if the work was
// done by then, or inside of the request to stop. No memory is allocated.
//
//   stdexec::sync_wait(weir::as_sender(s.completion()) | stdexec::then([&] { return sum(x.data());
//   }));
//
// Thread safety: as completions. In captures and host functions: allowed.
[[nodiscard]] inline auto as_sender(completion awaited,
                                    call_site at = call_site::current()) noexcept {
  return detail::device_sender{detail::completion_source{awaited, at}};
}

// The same of a future that is given away: completes with its value. To be connected once, as an
// rvalue. A future is dropped when its wait is stopped.
template <detail::value_type T>
[[nodiscard]] auto as_sender(future<T>&& awaited, call_site at = call_site::current()) noexcept {
  return detail::device_sender{detail::future_source<T>{std::move(awaited), at}};
}

// A stream as a place to go on in its order: schedule() completes when all is done that the stream
// has been given before start(), always on a thread of the reactor's, which what follows must not
// block. Its errors and stops are those of as_sender(); a stream that captures is an error, too. It
// does not own the stream. Equal if the streams are.
//
//   auto rest = stdexec::schedule(weir::stream_scheduler{s}) | stdexec::then([&] { return
//   sum(x.data()); });
class stream_scheduler {
  class schedule_sender;

 public:
  using scheduler_concept = detail::scheduler_concept_type;

  explicit stream_scheduler(stream_ref s, call_site at = call_site::current()) noexcept
      : stream_{s}, at_{at} {}

  [[nodiscard]] schedule_sender schedule() const noexcept;

  friend bool operator==(const stream_scheduler& a, const stream_scheduler& b) noexcept {
    return a.stream_ == b.stream_;
  }

 private:
  stream_ref stream_;
  call_site at_;
};

// What schedule() gives.
class stream_scheduler::schedule_sender : public detail::device_sender<detail::stream_source> {
 public:
  using device_sender::device_sender;

  struct attributes {
    // Of values. Errors and stops may come elsewhere.
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
