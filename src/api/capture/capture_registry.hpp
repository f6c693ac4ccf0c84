// SPDX-License-Identifier: Apache-2.0
// api/capture/capture_registry.hpp - the open captures that were begun through weir.
#pragma once

#include "api/capture/capture_query.hpp"
#include "api/capture/capture_record.hpp"

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace weir::detail {

// All records of open captures. The lock protects the records and is never held during a driver
// call.
class capture_registry {
 public:
  // The registry is never destroyed, because captures may end during static destruction.
  [[nodiscard]] static capture_registry& instance() noexcept;

  // Makes room for more records, so that add() cannot fail.
  void reserve();
  void add(std::unique_ptr<capture_record> record) noexcept;
  // Removes and returns the record with this id, after waiting for queries of it to finish. Returns
  // null if there is none.
  [[nodiscard]] std::unique_ptr<capture_record> remove(unsigned long long id) noexcept;
  // Joins the capture with this id. Returns false if there is no record of it. The second overload
  // registers `record` unless another thread was faster; call reserve() before. The last
  // participant to leave an external capture removes its record.
  [[nodiscard]] bool add_participant(unsigned long long id) noexcept;
  void add_participant(std::unique_ptr<capture_record>& record) noexcept;
  void remove_participant(unsigned long long id) noexcept;
  // Marks the capture with this id as being ended by the caller, and waits for queries of it to
  // finish. No query starts afterwards.
  void begin_end(unsigned long long id) noexcept;

  // Removes and returns a record with has_ended that no thread ends now. Returns null if there is
  // none.
  [[nodiscard]] std::unique_ptr<capture_record> remove_ended() noexcept;

  // For each queryable record with filter(record): calls query(record) without the lock, then
  // update(record, answer) with it. Neither may throw.
  // Throws: std::bad_alloc.
  template <class Filter, class Query, class Update>
  void query_each(const Filter& filter, const Query& query, const Update& update);

  template <class F>
  void for_each(F&& visit) {
    const std::lock_guard lock{lock_};
    for (const auto& record : records_) visit(*record);
  }
  // Returns the first capture with condition(record).
  template <class Condition>
  [[nodiscard]] std::optional<active_capture> find_if(const Condition& condition) {
    const std::lock_guard lock{lock_};
    for (const auto& record : records_) {
      if (condition(std::as_const(*record))) return record->capture;
    }
    return std::nullopt;
  }

 private:
  using records = std::vector<std::unique_ptr<capture_record>>;

  // These require the lock.
  [[nodiscard]] records::iterator find(unsigned long long id) noexcept;
  // Removes a record with condition(record), once no thread queries it. The caller destroys it
  // without the lock, because destroying a stream calls the driver.
  template <class Condition>
  [[nodiscard]] std::unique_ptr<capture_record> remove_if(std::unique_lock<std::mutex>& lock,
                                                          const Condition& condition) noexcept;
  // Adds a query of each queryable record with filter(record), and returns these records.
  template <class Filter>
  [[nodiscard]] std::vector<capture_record*> begin_queries(const Filter& filter);

  std::mutex lock_;
  std::condition_variable queries_done_;  // signalled when the last query of a record has finished
  records records_;
};

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

// `now` is the current state of `stream`. Removes the record of another capture that was begun
// there by begin_capture(), because it has ended directly through the driver.
void remove_ended_capture(CUstream stream, const stream_capture_info& now) noexcept;

// The recorded state of the capture that a stream participates in, or participated in before the
// capture was invalidated. The id is 0 if there is no record.
struct capture_snapshot {
  active_capture capture;
  bool is_origin = false;
  int participant_count = 0;  // number of capture_participant objects
  std::vector<joined_stream> joined;
};
[[nodiscard]] capture_snapshot find_capture(CUstream stream, const stream_capture_info& info);

// Removes the records of captures that were ended directly through the driver, or whose stream was
// destroyed. Queries every origin that may be queried. Returns true if any record was removed.
// Deferred work that waits for the end of captures stays blocked until then.
bool remove_ended_captures() noexcept;

// The following functions are called only while a capture is open.

// Called after an operation that may have made the stream join a capture.
void track_join(CUstream stream) noexcept;
// Called after `event` was recorded in `stream`, which may or may not be capturing.
void track_event_record(CUevent event, CUstream stream) noexcept;
// Called when the event is destroyed, because its handle may be reused.
void untrack_event(CUevent event) noexcept;
// Returns true if the event's last record is part of an open capture.
[[nodiscard]] bool is_captured_event(CUevent event) noexcept;

}  // namespace weir::detail
