// SPDX-License-Identifier: Apache-2.0
// api/event/timing_store.hpp - the measurements of timers, and the events that they use.
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

// Shared by the timings object and each running timer, with a reference count. Thread safety: all
// members may be called from any thread.
class timing_store {
 public:
  timing_store() = default;
  timing_store(const timing_store&) = delete;
  timing_store& operator=(const timing_store&) = delete;

  struct measurement {
    std::size_t name;
    unsigned long long order;  // order in which the sections began
    unsigned long long context;
    abi::CUevent start;
    abi::CUevent end;
  };

  // Returns the index of a name, which is added if it is new.
  [[nodiscard]] std::size_t index_of(std::string_view name);
  [[nodiscard]] unsigned long long next_order() noexcept {
    return order_.fetch_add(1, std::memory_order_relaxed);
  }

  // Returns a timed event of that context, to be released or to become part of a measurement.
  // Contexts are identified by their ids, because the driver may reuse the handle of a destroyed
  // context.
  [[nodiscard]] abi::CUevent acquire_event(abi::CUcontext context, unsigned long long number,
                                           call_site at);
  void release_event(unsigned long long context, abi::CUevent event) noexcept;

  // Adds a measurement and takes ownership of both events. If it throws, the caller still owns
  // them.
  void add(const measurement& added);

  // Accumulates the measurements that are done. Throws the failure of a measurement.
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
  // A context that has events in the store. The events of a context are destroyed with it. A green
  // context of weir is kept alive by a reference.
  struct context_record {
    unsigned long long number;
    abi::CUcontext handle;
    const device_record* primary_of;  // null for any other context
    std::uint32_t resets;             // resets of that device when the entry was created
    green_state* green;
    bool ended;  // another context has its handle
  };
  ~timing_store();
  void register_context(abi::CUcontext context, unsigned long long number, call_site at);
  [[nodiscard]] bool has_ended(unsigned long long context) const noexcept;
  // These three require the lock.
  void accumulate(const measurement& added, float milliseconds) noexcept;
  void accumulate_oldest() noexcept;
  void recycle(unsigned long long context, abi::CUevent event) noexcept;

  std::mutex lock_;
  std::vector<timing> timings_;
  std::vector<unsigned long long> last_;  // for each name, the order of its `last`
  std::deque<measurement> pending_;
  std::vector<pooled_event> events_;
  std::vector<context_record> contexts_;
  std::atomic<unsigned long long> order_{1};
  std::atomic<unsigned> holders_{1};
};

}  // namespace weir::detail
