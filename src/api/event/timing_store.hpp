// SPDX-License-Identifier: Apache-2.0
// api/event/timing_store.hpp - the measurements of timers, and the events that they use.
#pragma once

#include "driver/abi.hpp"

#include <weir/core/call_site.hpp>
#include <weir/event/timer.hpp>

#include <atomic>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

namespace weir::detail {

class green_state;

// Stores the measurements of one weir::timings object. The timings object and each running timer
// share it.
//
// Thread safety: all public members may be called from any thread.
class timing_store {
 public:
  timing_store() = default;
  timing_store(const timing_store&) = delete;
  timing_store& operator=(const timing_store&) = delete;
  ~timing_store();

  // A timed section whose end was recorded. The events are those of acquire_event().
  struct measurement {
    std::size_t name;               // result of index_of()
    unsigned long long order;       // order in which the sections began
    unsigned long long context_id;  // of both events
    abi::CUevent start;
    abi::CUevent end;
  };

  // Returns the index of `name`. Adds the name if it is new.
  [[nodiscard]] std::size_t index_of(std::string_view name);
  // Returns the number of a section that begins now; sections are numbered from 1.
  [[nodiscard]] unsigned long long next_order() noexcept {
    return order_.fetch_add(1, std::memory_order_relaxed);
  }

  // Returns an event with timing of the context `context`, whose id is `context_id`. The caller
  // passes the event to release_event() or as part of a measurement to add(). If `context` is a
  // green context that weir owns, the store keeps it alive.
  [[nodiscard]] abi::CUevent acquire_event(abi::CUcontext context, unsigned long long context_id,
                                           call_site at);
  // Takes back an event of acquire_event(). `context_id` is the id of its context.
  static void release_event(unsigned long long context_id, abi::CUevent event) noexcept;

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

 private:
  // A measurement that owns its events. The store and each thread in sync() that waits for the end
  // share it, so that no other section uses the event during that wait.
  struct pending_measurement {
    measurement value{};  // without events until add() has stored them
    pending_measurement() = default;
    pending_measurement(const pending_measurement&) = delete;
    pending_measurement& operator=(const pending_measurement&) = delete;
    ~pending_measurement();
  };
  // A context of a measured stream.
  struct context_record {
    unsigned long long id;
    green_state* green;  // reference; null if it is no green context of weir
  };
  void keep_alive(abi::CUcontext context, unsigned long long context_id);
  void accumulate_oldest(call_site at);
  using pending_list = std::deque<std::shared_ptr<pending_measurement>>;
  // The caller holds lock_ for the following functions.
  // Adds a measurement to the timings and removes it from the list. Returns the next one. The
  // driver has just returned its time, so the pool may destroy its events.
  pending_list::iterator accumulate_and_erase(pending_list::iterator measured,
                                              float milliseconds) noexcept;
  void accumulate(const measurement& added, float milliseconds) noexcept;

  std::mutex lock_;
  std::vector<timing> timings_;
  std::vector<unsigned long long> last_;  // for each name, the order of the section in timing::last
  pending_list pending_;                  // not yet added to timings_
  std::vector<context_record> contexts_;
  std::atomic<unsigned long long> order_{1};
};

// Returns a new store. The release of the last reference may happen anywhere; it defers the
// destruction of the store if the calling thread must make no driver call.
[[nodiscard]] std::shared_ptr<timing_store> make_timing_store();

}  // namespace weir::detail
