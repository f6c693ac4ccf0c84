// SPDX-License-Identifier: Apache-2.0
// api/capture/capture_registry.hpp - the open captures that were begun through weir.
#pragma once

#include "api/capture/capture_query.hpp"
#include "api/capture/capture_record.hpp"

#include <algorithm>
#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace weir::detail {

// The records of all open captures. The lock protects the records and is never held during a driver
// call.
class capture_registry {
 public:
  // The registry is never destroyed, because captures may end during static destruction.
  [[nodiscard]] static capture_registry& instance() noexcept;

  // A list, because a record that is in a list of its own can be added without memory.
  using records = std::list<std::unique_ptr<capture_record>>;

  // Adds the record in `single`.
  void add(records single) noexcept {
    const std::lock_guard lock{lock_};
    records_.splice(records_.end(), single);
  }
  // Called before the capture with this id is ended in the driver. Waits for the running queries of
  // the capture and prevents new ones, because an H200's driver crashes if one thread queries a
  // capture that another thread is ending.
  //
  // Returns the record. find_if() and for_each() visit it until finish_end(), so that other threads
  // do not invalidate the capture meanwhile. Returns null if there is no record, or if another
  // thread is ending the capture.
  [[nodiscard]] const capture_record* begin_end(unsigned long long id) noexcept;
  // Removes and returns the record for which the caller has called begin_end().
  [[nodiscard]] std::unique_ptr<capture_record> finish_end(unsigned long long id) noexcept;
  // Removes and returns the first record for which `condition` returns true, once no thread queries
  // it. Returns null if there is none. Ignores captures that a thread is ending. The caller
  // destroys the record without the lock, because that may destroy a stream in the driver.
  template <class Condition>
  std::unique_ptr<capture_record> remove_if(const Condition& condition) noexcept;
  // Like remove_if(), for the capture with this id.
  std::unique_ptr<capture_record> remove(unsigned long long id) noexcept {
    return remove_if([=](const capture_record& record) { return record.capture.id == id; });
  }
  // Counts one more participant in the capture with this id. Returns false if the capture has no
  // record.
  [[nodiscard]] bool add_participant(unsigned long long id) noexcept;
  // Adds the record in `single` with one participant. If another thread has meanwhile added a
  // record with this id, counts a participant there and leaves `single` with the caller.
  void add_participant(records& single) noexcept;
  // Counts one participant less. Removes the record of an external capture (capture_end::external)
  // when its last participant leaves.
  void remove_participant(unsigned long long id) noexcept;

  // Handles each record for which can_be_queried() and filter(record) return true, except captures
  // that a thread is ending. Calls query(record) without the lock, then update(record, answer) with
  // the lock. The two functions may not throw.
  //
  // Throws: std::bad_alloc, before the first query.
  template <class Filter, class Query, class Update>
  void query_each(const Filter& filter, const Query& query, const Update& update);

  // Calls visit(record) for each record, with the lock held.
  template <class F>
  void for_each(F&& visit) {
    const std::lock_guard lock{lock_};
    for (const auto& record : records_) visit(*record);
  }
  // Returns the first capture for whose record `condition` returns true; nullopt if there is none.
  template <class Condition>
  [[nodiscard]] std::optional<active_capture> find_if(const Condition& condition) {
    const std::lock_guard lock{lock_};
    for (const auto& record : records_) {
      if (condition(std::as_const(*record))) return record->capture;
    }
    return std::nullopt;
  }

 private:
  // The caller holds lock_.
  [[nodiscard]] records::iterator find(unsigned long long id) noexcept;
  // Returns the records that query_each() handles. Counts a running query in each of them.
  template <class Filter>
  [[nodiscard]] std::vector<capture_record*> begin_queries(const Filter& filter);

  std::mutex lock_;
  std::condition_variable queries_done_;  // signalled when the last query of a record has finished
  records records_;
};

template <class Condition>
std::unique_ptr<capture_record> capture_registry::remove_if(const Condition& condition) noexcept {
  std::unique_lock lock{lock_};
  for (;; queries_done_.wait(lock)) {
    const auto found = std::ranges::find_if(records_, [&](const auto& record) {
      return !record->is_ending && condition(std::as_const(*record));
    });
    if (found == records_.end()) return nullptr;
    if ((*found)->active_queries != 0) continue;
    std::unique_ptr<capture_record> removed = std::move(*found);
    records_.erase(found);
    return removed;
  }
}

template <class Filter>
std::vector<capture_record*> capture_registry::begin_queries(const Filter& filter) {
  const std::lock_guard lock{lock_};
  std::vector<capture_record*> queried;
  queried.reserve(records_.size());
  for (const auto& record : records_) {
    if (record->is_ending || !record->can_be_queried() || !filter(std::as_const(*record))) continue;
    ++record->active_queries;
    queried.push_back(record.get());
  }
  return queried;
}

template <class Filter, class Query, class Update>
void capture_registry::query_each(const Filter& filter, const Query& query, const Update& update) {
  for (capture_record* const record : begin_queries(filter)) {
    const auto answer = query(std::as_const(*record));
    const std::lock_guard lock{lock_};
    update(*record, answer);
    if (--record->active_queries == 0) queries_done_.notify_all();
  }
}

// Removes the record of a capture that begin_capture() or begin_capture_to() began in `stream`, if
// other code has ended it directly through the driver. `now` is the current state of the stream. If
// the stream is in an invalidated capture, whose id is not known, does nothing.
void remove_ended_capture(CUstream stream, const stream_capture_info& now) noexcept;

// A copy of the record of the capture that a stream takes part in. If that capture is invalidated,
// the driver reports no id, and the record is found by the stream. `capture.id` is 0 if there is no
// record.
struct capture_snapshot {
  active_capture capture;
  bool is_origin = false;     // true if the capture began in that stream
  int participant_count = 0;  // number of capture_participant objects
  std::vector<joined_stream> joined;
};
[[nodiscard]] capture_snapshot find_capture(CUstream stream, const stream_capture_info& info);

// Removes the records of captures that other code has ended directly through the driver. Keeps a
// record if the query of its stream fails. Returns true if any record was removed.
//
// Queries each origin stream that can_be_queried(), except those of captures that end by scope,
// which remove their records themselves. Deferred frees wait while a capture has a record, so the
// reclaimer thread calls this function.
bool remove_ended_captures() noexcept;

// Called before `stream` waits for work that is part of the capture with the id `awaited`
// (capture_of()). Marks the work that the stream was given before, if the wait makes it join that
// capture. Otherwise returns null.
//
// Throws stream_capture_merge if the stream is in another valid capture. The wait would break both,
// and GPUs' drivers crash at the end of a broken capture that contains the graph of another one.
[[nodiscard]] work_mark prepare_join(CUstream stream, unsigned long long awaited, call_site at);

// track_join(), track_event_record(), untrack_event() and is_captured_event() are called only while
// a capture is open.

// Called after an operation that may have made the stream join a capture, such as a wait for an
// event. Adds the stream to the record of its capture. `earlier_work` is the result of
// prepare_join().
void track_join(CUstream stream, work_mark earlier_work) noexcept;
// Called after `event` was recorded in `stream`, which may or may not be capturing. Stores which
// capture the record is part of.
void track_event_record(CUevent event, CUstream stream) noexcept;
// Called when the event is destroyed, because its handle may be reused.
void untrack_event(CUevent event) noexcept;
// Returns the id of the open capture that the event's last record is part of; no_capture if there
// is none.
[[nodiscard]] unsigned long long capture_of_event(CUevent event) noexcept;
// Returns true if the event's last record is part of an open capture.
[[nodiscard]] inline bool is_captured_event(CUevent event) noexcept {
  return capture_of_event(event) != no_capture;
}

}  // namespace weir::detail
