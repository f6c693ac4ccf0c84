// SPDX-License-Identifier: Apache-2.0
// api/capture/capture_registry.hpp - the open captures that were begun through weir.
#pragma once

#include "api/capture/capture_invalidation.hpp"
#include "api/core/call_restrictions.hpp"
#include "api/core/check.hpp"
#include "api/stream/stream_state.hpp"

#include <weir/capture/capture.hpp>
#include <weir/core/call_site.hpp>

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace weir::detail {

// Describes an open capture.
struct active_capture {
  CUstream origin = nullptr;
  unsigned long long id = 0;
  CUgraph graph = nullptr;
  CUcontext context = nullptr;              // of the origin stream
  CUcontext instantiate_context = nullptr;  // in which the graph will be instantiated
  capture_options options;
  bool scoped = false;               // ended only by the scope that began it
  bool into_existing_graph = false;  // records into a graph that existed before
  bool borrowed = false;             // that graph keeps its owner during and after the capture
  bool external =
      false;  // started directly through the driver; weir only participates and does not end it
  call_site begun_at;
  unsigned long long thread = 0;  // unique_thread_id() of the thread that began it
  int system_thread_id = 0;       // the operating system's id, for messages
};

struct joined_stream {
  CUstream stream;
  CUcontext context;          // null if weir does not own the stream
  unsigned long long thread;  // unique_thread_id() of the thread that made it join

  // Returns true if `other` means this stream on the calling thread. Each thread has its own
  // per-thread default stream.
  [[nodiscard]] bool matches(CUstream other) const noexcept;
};

struct capture_record {
  explicit capture_record(CUstream stream) noexcept
      : origin_state_{acquire_stream_state(stream, stream_holder::user)} {}
  capture_record(const capture_record&) = delete;
  capture_record& operator=(const capture_record&) = delete;
  ~capture_record() {
    if (origin_state_ != nullptr) origin_state_->release_noexcept(stream_holder::user);
  }

  // Returns true if the capture began in `stream`, as seen from the calling thread.
  [[nodiscard]] bool has_origin(CUstream stream) const noexcept;
  // Returns true if `stream` is the origin, or weir has seen it join.
  [[nodiscard]] bool has_stream(CUstream stream) const noexcept;
  // Returns true if the origin or a joined stream belongs to `context`.
  [[nodiscard]] bool has_context(CUcontext context) const noexcept;
  // Returns true if the calling thread may query the origin stream. If another thread began the
  // capture, weir must own the stream, because this record then keeps it alive. That thread could
  // destroy any other stream meanwhile, and a GPU's driver crashes on a destroyed stream.
  [[nodiscard]] bool can_be_queried() const noexcept;

  active_capture capture;
  std::vector<joined_stream> joined;        // streams that weir has seen join, without the origin
  std::vector<CUevent> events;              // events whose last record is part of the capture
  std::vector<CUgraphNode> existing_nodes;  // the nodes that a borrowed graph had before, sorted
  // The borrowed graph, or the graph that contains it, if its owner was destroyed during the
  // capture.
  CUgraph ownerless_graph = nullptr;
  capture_invalidation invalidation;
  // Set if the capture was already invalidated when the first failed call that could have
  // invalidated it was recorded.
  bool invalidated_directly = false;

  int participant_count = 0;  // number of capture_participant objects in this capture
  // Number of threads that query the origin now. The record stays registered until it is 0.
  int active_queries = 0;
  // Set while a thread ends the capture. That thread removes the record, although the driver may
  // already report the capture as ended.
  bool is_ending = false;
  // Owns this record once it has left the registry. The last querying thread destroys it.
  std::unique_ptr<capture_record> detached;

  // Stops counting this capture as open.
  void stop_counting() noexcept { active_.reset(); }

 private:
  stream_state* origin_state_;  // keeps the origin stream alive until the capture ends
  std::optional<scoped_active_capture> active_{std::in_place};
};

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

  // For each queryable record with filter(record): calls query(record) without the lock, then
  // update(record, answer) with it. Removes the record if update() returns true. query() must not
  // throw. Returns how many records were removed.
  // Throws: std::bad_alloc.
  template <class Filter, class Query, class Update>
  std::size_t query_each(Filter&& filter, Query&& query, Update&& update);

  template <class F>
  void for_each(F&& visit) {
    const std::lock_guard lock{lock_};
    for (const auto& record : records_) visit(*record);
  }

 private:
  using records = std::vector<std::unique_ptr<capture_record>>;

  // Requires the lock. The caller destroys the result of end_query() without it.
  [[nodiscard]] records::iterator find(unsigned long long id) noexcept;
  void detach(capture_record& record) noexcept;
  [[nodiscard]] std::unique_ptr<capture_record> end_query(capture_record& record) noexcept;

  std::mutex lock_;
  std::condition_variable queries_done_;  // signalled when the last query of a record has finished
  records records_;
};

template <class Filter, class Query, class Update>
std::size_t capture_registry::query_each(Filter&& filter, Query&& query, Update&& update) {
  std::vector<capture_record*> queried;
  {
    const std::lock_guard lock{lock_};
    queried.reserve(records_.size());
    for (const auto& record : records_) {
      if (record->is_ending || !record->can_be_queried() || !filter(std::as_const(*record)))
        continue;
      ++record->active_queries;
      queried.push_back(record.get());
    }
  }
  std::size_t ended_count = 0;
  for (capture_record* const record : queried) {
    const auto answer = query(std::as_const(*record));
    // Destroyed after the lock is released, because destroying a stream calls the driver.
    std::unique_ptr<capture_record> removed;
    const std::lock_guard lock{lock_};
    if (update(*record, answer) && !record->is_ending) {
      ++ended_count;
      detach(*record);
    }
    removed = end_query(*record);
  }
  return ended_count;
}

// The capture state of a stream as the driver reports it. The arrays belong to the driver and are
// valid until the next call on the capture.
struct stream_capture_info {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  cuuint64_t id = 0;
  CUgraph graph = nullptr;
  const CUgraphNode* nodes = nullptr;
  const CUgraphEdgeData* edges = nullptr;  // null if the driver reports no edge data
  std::size_t count = 0;
};
[[nodiscard]] CUresult try_query_capture(CUstream stream, stream_capture_info& info) noexcept;
// Queries only the status and the id. The driver stores nothing for this query, so the capturing
// thread may make its own queries at the same time.
[[nodiscard]] CUresult query_capture_id(CUstream stream, CUstreamCaptureStatus& status,
                                        cuuint64_t& id) noexcept;
[[nodiscard]] stream_capture_info query_capture(CUstream stream, call_site at);
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

// Returns a text such as "the capture begun at main.cpp:12 in own_thread mode by thread 4711".
[[nodiscard]] std::string to_text(const active_capture& capture);

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
