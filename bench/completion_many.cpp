// SPDX-License-Identifier: Apache-2.0
// completion_many.cpp - the cost of 100 000 concurrently pending completions over 32 streams.
#include "completion/detached.hpp"
#include "completion/held_streams.hpp"
#include "harness/figure.hpp"
#include "harness/memory.hpp"
#include "harness/raw.hpp"
#include "harness/timing.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <limits>
#include <new>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>
#include <weir/completion/completion.hpp>
#include <weir/core/driver.hpp>
#include <weir/memory/fill.hpp>
#include <weir/memory/pinned_buffer.hpp>
#include <weir/stream/stream.hpp>

namespace bench {
namespace {

constexpr std::size_t streams = 32;
constexpr std::size_t all = 100'000;
constexpr std::size_t max_frame_bytes = 256;  // of a frame
constexpr int rounds = 20;

struct costs {
  double bytes = std::numeric_limits<double>::infinity();
  double nanoseconds = bytes;
  double resumed = 0;     // millions per second
  double record = bytes;  // nanoseconds of the driver call that each makes
};

// Coroutines with contiguous frames in preallocated memory: a general allocator's cost for each, 40
// ns and more, depends on the program. One group at a time.
struct pooled_coroutine {
  struct promise_type : detached::promise_type {
    pooled_coroutine get_return_object() noexcept { return {}; }
    static void* operator new(std::size_t bytes) {
      void* const frame = frames.data() + used;
      used += (bytes + alignof(std::max_align_t) - 1) / alignof(std::max_align_t) *
              alignof(std::max_align_t);
      if (used > frames.size()) throw std::bad_alloc{};
      return frame;
    }
    static void operator delete(void*, std::size_t) noexcept {
      ended.fetch_add(1, std::memory_order_release);
    }
  };

  static void begin_again() {
    used = 0;
    ended = 0;
  }

  static inline std::vector<std::byte> frames;
  static inline std::size_t used = 0;  // bytes
  static inline std::atomic<std::size_t> ended{0};
};

struct tally {
  std::atomic<std::size_t> resumed{0};
  clock::time_point last;
};

pooled_coroutine count_end(weir::completion what, tally& in) {
  co_await std::move(what);  // as in co_await stream.completion()
  if (in.resumed.fetch_add(1, std::memory_order_relaxed) + 1 != all) co_return;
  in.last = clock::now();
  in.resumed.fetch_add(1);
  in.resumed.notify_one();
}

// On the embedded driver each completion has its own point, with a 4-byte memset before it. A GPU's
// driver blocks the caller when a stream has about 1000 pending operations, so there each of 125
// points of a stream is awaited 25 times.
class pending_completions {
 public:
  pending_completions() : is_embedded_{weir::current_driver().kind == weir::driver_kind::embedded} {
    points_.reserve(streams * points());
    pooled_coroutine::frames.assign(all * max_frame_bytes, std::byte{});
    run(false);  // allocates what the memsets need
  }

  pending_completions(const pending_completions&) = delete;
  pending_completions& operator=(const pending_completions&) = delete;
  ~pending_completions() { pooled_coroutine::frames = {}; }

  costs measure() {
    costs best;
    double without = std::numeric_limits<double>::infinity();
    for (int i = 0; i < rounds; ++i) {
      best.record = std::min(best.record, measure_record());
      without = std::min(without, run(false).nanoseconds);
      const costs with = run(true);
      best.bytes = std::min(best.bytes, with.bytes);
      best.nanoseconds = std::min(best.nanoseconds, with.nanoseconds);
      best.resumed = std::max(best.resumed, with.resumed);
    }
    best.nanoseconds -= without;
    return best;
  }

 private:
  double measure_record() {
    if (events_.empty()) events_ = std::vector<raw_event>(streams * points());
    hold_all();
    const double time = time_once([&] {
      for (std::size_t i = 0; i < events_.size(); ++i) {
        ok(raw().cuEventRecord(events_[i], held_.streams()[i % streams].get()));
      }
    });
    release_all();
    return time / static_cast<double>(events_.size());
  }

  void hold_all() {
    for (std::size_t i = 0; i < streams; ++i) held_.hold(i);
    for (std::size_t i = 0; i < streams; ++i) {
      while (!is_embedded_ && !held_.has_started(i)) {
      }
    }
  }

  void release_all() {
    for (std::size_t i = 0; i < streams; ++i) held_.release(i);
    for (const weir::stream& stream : held_.streams()) stream.sync();
  }

  [[nodiscard]] std::size_t points() const { return is_embedded_ ? all / streams : 125; }

  costs run(bool completions) {
    points_.clear();
    pooled_coroutine::begin_again();
    hold_all();
    tally counted;
    const double before = allocated_bytes();
    const double time = time_once([&] {
      for (std::size_t i = 0; i < points(); ++i) {
        for (const weir::stream& stream : held_.streams()) {
          if (is_embedded_) weir::fill(stream, word_, 0u);
          if (!completions) continue;
          points_.push_back(stream.completion());
          count_end(points_.back(), counted);
        }
      }
    });
    if (completions) {
      for (std::size_t more = points_.size(); more < all; ++more)
        count_end(points_[more % points_.size()], counted);
    }
    costs of;
    of.bytes = (allocated_bytes() - before + static_cast<double>(pooled_coroutine::used)) /
               static_cast<double>(all);
    of.nanoseconds = time / static_cast<double>(streams * points());
    const auto opened = clock::now();
    release_all();
    if (completions) {
      for (std::size_t now = 0; (now = counted.resumed.load()) != all + 1;)
        counted.resumed.wait(now);
      while (pooled_coroutine::ended.load(std::memory_order_acquire) != all)
        std::this_thread::yield();
      of.resumed = static_cast<double>(all) /
                   std::chrono::duration<double, std::micro>{counted.last - opened}.count();
    }
    return of;
  }

  bool is_embedded_;
  held_streams held_{streams};
  weir::pinned_buffer<unsigned> word_{1};
  std::vector<weir::completion> points_;
  std::vector<raw_event> events_;
};

const costs& measured() {
  static const costs once = pending_completions{}.measure();
  return once;
}

const registration bytes{
    {.name = "completion/many/memory", .unit = "bytes each", .budget = 200, .measure = [] {
       return measured().bytes;
     }}};
const registration make{
    {.name = "completion/many/make", .unit = "ns to make and await", .budget = 300, .measure = [] {
       return measured().nanoseconds;
     }}};
const registration record{{.name = "completion/many/record",
                           .unit = "ns a cuEventRecord beside it",
                           .measure = [] { return measured().record; }}};
const registration resume{{.name = "completion/many/resume",
                           .unit = "million a second",
                           .budget = 2,
                           .better = better::more,
                           .measure = [] { return measured().resumed; }}};

}  // namespace
}  // namespace bench
