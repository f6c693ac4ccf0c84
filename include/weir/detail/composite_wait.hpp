// weir/detail/composite_wait.hpp - waits for one or several points, with an end by time or by
// request.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/core/errc.hpp>
#include <weir/detail/completion_waiter.hpp>
#include <weir/detail/duration.hpp>
#include <weir/detail/export.hpp>

#include <atomic>
#include <coroutine>
#include <cstddef>
#include <span>

namespace weir {

class completion;

namespace detail {

class composite_wait;
class reactor;

// One of the points. Its outcome is not_ready if it was not waited for to its end.
struct wait_item : completion_waiter {
  composite_wait* wait = nullptr;
  completion_queue* queue = nullptr;  // null: of nothing
};

// How many have to be settled.
enum class wait_count : unsigned char { one, all };

enum class wait_result : unsigned char { pending, done, timed_out, stopped };

// Suspends a coroutine until enough of its points are settled, its time has passed, or somebody
// stops it; whichever comes first takes the others back, and the last one of all to have its say
// resumes. Several may come at once, from any thread.
class WEIR_EXPORT composite_wait {
 public:
  composite_wait(const composite_wait&) = delete;
  composite_wait& operator=(const composite_wait&) = delete;

  // From any thread, for as long as the wait lives: ends it, unless it has ended.
  void stop() noexcept;

  [[nodiscard]] wait_result result() const noexcept {
    return static_cast<wait_result>(state_.load() >> 1U);
  }
  // The one that was settled first, if one was to be.
  [[nodiscard]] std::size_t first() const noexcept { return first_; }

 protected:
  composite_wait(wait_count count, long long timeout) noexcept : timeout_{timeout}, count_{count} {}
  ~composite_wait() = default;

  static void set_item(wait_item& item, const completion& c) noexcept;

  // Before that is asked.
  void set_timeout(long long nanoseconds) noexcept { timeout_ = nanoseconds; }
  void set_stop_requested() noexcept { stop_requested_ = true; }

  // Is there nothing to wait for? Asks the driver about what is not known.
  [[nodiscard]] bool try_complete(std::span<wait_item> items) noexcept;
  // False if it is over, and the coroutine goes on. Throws std::bad_alloc or std::system_error,
  // with nothing begun.
  [[nodiscard]] bool start(std::span<wait_item> items, std::coroutine_handle<> awaiting);
  // Throws what the first of the points that failed has failed with.
  void throw_failure(std::span<const wait_item> items, call_site at) const;

 private:
  struct timeout_timer : wait_timer {
    composite_wait* wait = nullptr;
  };

  static void on_item_complete(completion_waiter& self, errc outcome) noexcept;
  static void on_timeout(wait_timer& self) noexcept;
  static void resume(completion_waiter& self, errc outcome) noexcept;
  // How many of the others will not have their say any more.
  [[nodiscard]] std::size_t complete_item(const wait_item& item) noexcept;
  [[nodiscard]] std::size_t finish(wait_result result, std::size_t first) noexcept;
  [[nodiscard]] std::size_t cancel_all() noexcept;
  [[nodiscard]] bool finish_callbacks(std::size_t finished) noexcept;
  void post_resume() noexcept;

  std::span<wait_item> items_;
  std::coroutine_handle<> awaiting_;
  reactor* reactor_ = nullptr;  // looks after the time; a lane may move on to another one
  long long timeout_;           // nanoseconds; forever: none
  timeout_timer timer_;
  std::size_t first_ = 0;
  std::atomic<std::size_t> remaining_{0};          // that many more points
  std::atomic<std::size_t> pending_callbacks_{0};  // who still will have their say
  std::atomic<unsigned> state_{0};  // a wait_result, and in the lowest bit: all have begun
  wait_count count_;
  bool stop_requested_ = false;
};

// A wait with a deadline. How long that is from now is asked when it begins, which may be long
// after it was made.
template <class Base, time_point_like TimePoint>
class deadline_awaiter : public Base {
 public:
  template <class Source>
  deadline_awaiter(const Source& source, const TimePoint& deadline, call_site at)
      : Base{source, forever, at}, deadline_{deadline} {}

  [[nodiscard]] bool await_ready() {
    this->set_timeout(nanoseconds_until(deadline_));
    return Base::await_ready();
  }

 private:
  TimePoint deadline_;
};

}  // namespace detail
}  // namespace weir
