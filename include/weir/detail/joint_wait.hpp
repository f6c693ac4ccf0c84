// weir/detail/joint_wait.hpp - waits for one or several points, with an end by time or by request.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/detail/completion_waiter.hpp>
#include <weir/detail/duration.hpp>
#include <weir/core/errc.hpp>
#include <weir/detail/export.hpp>

#include <atomic>
#include <coroutine>
#include <cstddef>
#include <span>

namespace weir {

class completion;

namespace detail {

class joint_wait;
class reactor;

// One of the points. Its outcome is not_ready if it was not waited for to its end.
struct joint_point : completion_waiter {
  joint_wait* of = nullptr;
  lane* where = nullptr;  // null: of nothing
};

// How many have to be settled.
enum class enough : unsigned char { one, all };

enum class joint_end : unsigned char { pending, done, late, stopped };

// Suspends a coroutine until enough of its points are settled, its time has passed, or somebody stops it; whichever comes
// first takes the others back, and the last one of all to have its say resumes. Several may come at once, from any thread.
class WEIR_EXPORT joint_wait {
 public:
  joint_wait(const joint_wait&) = delete;
  joint_wait& operator=(const joint_wait&) = delete;

  // From any thread, for as long as the wait lives: ends it, unless it has ended.
  void stop() noexcept;

  [[nodiscard]] joint_end how() const noexcept { return static_cast<joint_end>(state_.load() >> 1U); }
  // The one that was settled first, if one was to be.
  [[nodiscard]] std::size_t first() const noexcept { return first_; }

 protected:
  joint_wait(enough many, long long limit) noexcept : limit_{limit}, many_{many} {}
  ~joint_wait() = default;

  static void set(joint_point& at, const completion& c) noexcept;

  // Before that is asked.
  void limit(long long nanoseconds) noexcept { limit_ = nanoseconds; }
  void stop_if_pending() noexcept { stopped_before_ = true; }

  // Is there nothing to wait for? Asks the driver about what is not known.
  [[nodiscard]] bool over_already(std::span<joint_point> points) noexcept;
  // False if it is over, and the coroutine goes on. Throws std::bad_alloc or std::system_error, with nothing begun.
  [[nodiscard]] bool begin(std::span<joint_point> points, std::coroutine_handle<> awaiting);
  // Throws what the first of the points that failed has failed with.
  void throw_failure(std::span<const joint_point> points, call_site at) const;

 private:
  struct limit_timer : wait_timer {
    joint_wait* of = nullptr;
  };

  static void point_told(completion_waiter& self, errc outcome) noexcept;
  static void time_passed(wait_timer& self) noexcept;
  static void resume(completion_waiter& self, errc outcome) noexcept;
  // How many of the others will not have their say any more.
  [[nodiscard]] std::size_t settle_one(const joint_point& which) noexcept;
  [[nodiscard]] std::size_t end(joint_end how, std::size_t first) noexcept;
  [[nodiscard]] std::size_t take_back_all() noexcept;
  [[nodiscard]] bool was_last(std::size_t parties) noexcept;
  void resume_elsewhere() noexcept;

  std::span<joint_point> points_;
  std::coroutine_handle<> awaiting_;
  reactor* clock_ = nullptr;  // looks after the time; a lane may move on to another one
  long long limit_;           // nanoseconds; forever: none
  limit_timer timer_;
  std::size_t first_ = 0;
  std::atomic<std::size_t> needed_{0};   // that many more points
  std::atomic<std::size_t> parties_{0};  // who still will have their say
  std::atomic<unsigned> state_{0};       // a joint_end, and in the lowest bit: all have begun
  enough many_;
  bool stopped_before_ = false;
};

// A wait with a deadline. How long that is from now is asked when it begins, which may be long after it was made.
template <class Wait, time_point_like TimePoint>
class ending_by : public Wait {
 public:
  template <class What>
  ending_by(const What& what, const TimePoint& deadline, call_site at) : Wait{what, forever, at}, deadline_{deadline} {}

  [[nodiscard]] bool await_ready() {
    this->limit(nanoseconds_until(deadline_));
    return Wait::await_ready();
  }

 private:
  TimePoint deadline_;
};

}  // namespace detail
}  // namespace weir
