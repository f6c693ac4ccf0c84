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

// Stores the measurements of one weir::timings object. The timings object and each running timer
// hold a reference.
//
// Thread safety: all public members may be called from any thread.
class timing_store {
 public:
  timing_store() = default;
  timing_store(const timing_store&) = delete;
  timing_store& operator=(const timing_store&) = delete;

  // A timed section whose end was recorded. Its events belong to the store.
  struct measurement {
    std::size_t name;            // result of index_of()
    unsigned long long order;    // order in which the sections began
    unsigned long long context;  // id of the context of both events
    abi::CUevent start;
    abi::CUevent end;
  };

  // Returns the index of `name`. Adds the name if it is new.
  [[nodiscard]] std::size_t index_of(std::string_view name);
  // Returns the number of a section that begins now; sections are numbered from 1.
  [[nodiscard]] unsigned long long next_order() noexcept {
    return order_.fetch_add(1, std::memory_order_relaxed);
  }

  // Returns an event with timing of the context `context`, whose id is `number`. The caller passes
  // the event to release_event() or as part of a measurement to add().
  //
  // Events are kept by the id of their context, because the driver may reuse the handle of a
  // destroyed context.
  [[nodiscard]] abi::CUevent acquire_event(abi::CUcontext context, unsigned long long number,
                                           call_site at);
  // Returns an event from acquire_event() to the store. `context` is the id of its context.
  void release_event(unsigned long long context, abi::CUevent event) noexcept;

  // Adds a measurement and takes ownership of both events. If it throws, the caller still owns
  // them.
  void add(const measurement& added);

  // Adds the completed measurements to the timings. Throws the failure of a measurement, after
  // removing that measurement.
  void collect(call_site at);
  // Waits until all measurements are complete and adds them to the timings. Throws like collect().
  void sync(call_site at);
  // Returns the timings of all names.
  [[nodiscard]] std::vector<timing> all();
  void clear() noexcept;

  void add_ref() noexcept { holders_.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept;

 private:
  struct pooled_event {
    unsigned long long context;
    abi::CUevent event;
  };
  // A context that has events in the store. When a context is destroyed, the driver destroys its
  // events. The store keeps a green context that weir owns alive by a reference.
  struct context_record {
    unsigned long long number;  // id of the context
    abi::CUcontext handle;
    const device_record* primary_of;  // device whose primary context this is; else null
    std::uint32_t resets;             // device_record::resets at registration
    green_state* green;               // reference; null if it is no green context of weir
    bool ended;                       // destroyed: a newer context has its handle
  };
  ~timing_store();
  void register_context(abi::CUcontext context, unsigned long long number, call_site at);
  [[nodiscard]] bool has_ended(unsigned long long context) const noexcept;
  // The caller holds lock_ for accumulate(), accumulate_oldest() and recycle().
  void accumulate(const measurement& added, float milliseconds) noexcept;
  void accumulate_oldest() noexcept;
  void recycle(unsigned long long context, abi::CUevent event) noexcept;

  std::mutex lock_;
  std::vector<timing> timings_;
  std::vector<unsigned long long> last_;  // for each name, the order of the section in timing::last
  std::deque<measurement> pending_;       // not yet added to timings_
  std::vector<pooled_event> events_;      // unused events
  std::vector<context_record> contexts_;
  std::atomic<unsigned long long> order_{1};
  std::atomic<unsigned> holders_{1};
};

}  // namespace weir::detail
