// api/event/timing_store.hpp - the times that timers have taken, and the events that they take them
// with.
#pragma once

#include "driver/abi.hpp"

#include <weir/core/call_site.hpp>
#include <weir/event/timer.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string_view>
#include <vector>

namespace weir::detail {

class green_state;
struct device_record;

// Held by the timings and by each timer that runs. Thread safety: any operation from any thread.
class timing_store {
 public:
  timing_store() = default;
  timing_store(const timing_store&) = delete;
  timing_store& operator=(const timing_store&) = delete;

  struct measurement {
    std::size_t name;
    unsigned long long order;  // of the beginnings
    unsigned long long context;
    abi::CUevent start;
    abi::CUevent end;
  };

  // The number of a name.
  [[nodiscard]] std::size_t index_of(std::string_view name);
  [[nodiscard]] unsigned long long next_order() noexcept {
    return order_.fetch_add(1, std::memory_order_relaxed);
  }

  // A timed event of that context, to be given back or to become a part of a section. Contexts are
  // told apart by their numbers: a handle may come again, and the events of the context that had it
  // before are gone.
  [[nodiscard]] abi::CUevent acquire_event(abi::CUcontext context, unsigned long long number,
                                           call_site at);
  void release_event(unsigned long long context, abi::CUevent event) noexcept;

  // Both of its events are the book's from here on; if this throws they still are the caller's.
  void add(const measurement& what);

  // Counts in what is done. Throws what a section failed with.
  void collect(call_site at);
  void sync(call_site at);
  [[nodiscard]] std::vector<timing> all();
  void clear() noexcept;

  void add_ref() noexcept { holders_.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept;

 private:
  struct pooled_event {
    unsigned long long context;
    abi::CUevent event;
  };
  // A context that there are events of. Those of one that has ended went with it; of a green one of
  // weir's that cannot be, as it is held.
  struct context_record {
    unsigned long long number;
    abi::CUcontext handle;
    const device_record* primary_of;  // null for any other context
    std::uint32_t resets;             // of that device, when it began
    green_state* green;
    bool ended;  // another one has its handle
  };
  ~timing_store();
  void register_context(abi::CUcontext context, unsigned long long number, call_site at);
  [[nodiscard]] bool has_ended(unsigned long long context) const noexcept;
  // With the lock held.
  void accumulate(const measurement& what, float milliseconds) noexcept;
  void accumulate_oldest() noexcept;
  void recycle(unsigned long long context, abi::CUevent event) noexcept;

  std::mutex lock_;
  std::vector<timing> timings_;
  std::vector<unsigned long long> last_;  // the order of each one's `last`
  std::deque<measurement> pending_;
  std::vector<pooled_event> events_;
  std::vector<context_record> contexts_;
  std::atomic<unsigned long long> order_{1};
  std::atomic<unsigned> holders_{1};
};

}  // namespace weir::detail
