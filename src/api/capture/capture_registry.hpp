// api/capture/capture_registry.hpp - what is known of each open capture that was begun through
// weir.
#pragma once

#include "api/capture/captures.hpp"
#include "api/core/call_restrictions.hpp"
#include "api/stream/stream_state.hpp"

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace weir::detail {

// The first call that broke a capture; none if `call` is null.
struct capture_invalidation {
  const char* call = nullptr;
  errc code = errc::success;
  call_site where;
  int system_thread_id = 0;
};

struct joined_stream {
  CUstream stream;
  CUcontext context;          // null if weir does not own the stream
  unsigned long long thread;  // unique_thread_id() of who made it join

  // As the calling thread names streams?
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

  // Is it begun in that stream, as the calling thread names streams?
  [[nodiscard]] bool has_origin(CUstream stream) const noexcept;
  // Has it begun in that stream, or has weir seen it join?
  [[nodiscard]] bool has_stream(CUstream stream) const noexcept;
  // Is one of those streams of that context?
  [[nodiscard]] bool has_context(CUcontext context) const noexcept;
  // May the calling thread ask the origin how it is? Of another thread's capture a stream that weir
  // owns, which is there for as long as this is: others that thread may just destroy, and a GPU's
  // driver crashes when a stream is named that is gone.
  [[nodiscard]] bool can_be_queried() const noexcept;

  active_capture capture;
  std::vector<joined_stream> joined;        // streams that weir has seen join, without the origin
  std::vector<CUevent> events;              // whose last record is part of the capture
  std::vector<CUgraphNode> existing_nodes;  // of a given graph: the nodes that it had, sorted
  CUgraph ownerless_graph =
      nullptr;  // a given graph, or what that is a part of, whose owner is gone
  capture_invalidation invalidation;
  bool invalidated_directly =
      false;  // found broken before weir knew of any call that could have done it

  int participant_count = 0;  // how many capture_participant take part in it
  int active_queries = 0;     // about, by so many threads: until that is 0 it stays
  bool is_ending =
      false;  // whoever ends it takes the record, though the driver may call it ended already
  std::unique_ptr<capture_record>
      detached;  // this, out of the registry: the last one who asks lets go of it

  // It is open no more.
  void stop_counting() noexcept { active_.reset(); }

 private:
  stream_state* origin_state_;  // so that the origin is there to end the capture
  std::optional<scoped_active_capture> active_{std::in_place};
};

// All of them. The lock is held for looks at the records only, never while the driver is called.
class capture_registry {
 public:
  // Captures may be ended while statics are destroyed.
  [[nodiscard]] static capture_registry& instance() noexcept;

  // Room for one more, so that add() cannot fail.
  void reserve();
  void add(std::unique_ptr<capture_record> record) noexcept;
  // Takes the one of that id away, once nobody asks about it; null if there is none.
  [[nodiscard]] std::unique_ptr<capture_record> remove(unsigned long long id) noexcept;
  // For what takes part in the capture of that id: is it known? Where it is not, as it was started
  // directly through the driver, the record makes it known, unless another thread's has meanwhile.
  // There has to be room. The last one to leave such a one takes it away.
  [[nodiscard]] bool add_participant(unsigned long long id) noexcept;
  void add_participant(std::unique_ptr<capture_record>& record) noexcept;
  void remove_participant(unsigned long long id) noexcept;
  // From here on the caller ends the one of that id, and takes it; nobody asks about it any more.
  void begin_end(unsigned long long id) noexcept;

  // Of each that filter(record) is true of and that can be asked: calls query(record), which throws
  // nothing, without the lock, and then, with it, update(record, what ask said). What learn says
  // has ended is in here no more afterwards. How many have, by now. Throws bad_alloc.
  template <class Filter, class Query, class Update>
  std::size_t query_each(Filter&& filter, Query&& query, Update&& update);

  template <class F>
  void for_each(F&& visit) {
    const std::lock_guard lock{lock_};
    for (const auto& record : records_) visit(*record);
  }

 private:
  using records = std::vector<std::unique_ptr<capture_record>>;

  // All with the lock held. The last gives what the caller destroys without it.
  [[nodiscard]] records::iterator find(unsigned long long id) noexcept;
  void detach(capture_record& record) noexcept;
  [[nodiscard]] std::unique_ptr<capture_record> end_query(capture_record& record) noexcept;

  std::mutex lock_;
  std::condition_variable queries_done_;  // a record is asked about by nobody any more
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
    std::unique_ptr<capture_record>
        removed;  // its stream may go with it, for which the driver is called
    const std::lock_guard lock{lock_};
    if (update(*record, answer) && !record->is_ending) {
      ++ended_count;
      detach(*record);
    }
    removed = end_query(*record);
  }
  return ended_count;
}

// A stream's part in a capture, as the driver tells it. What it points to is the driver's, until
// the next call on the capture.
struct stream_capture_info {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  cuuint64_t id = 0;
  CUgraph graph = nullptr;
  const CUgraphNode* nodes = nullptr;
  const CUgraphEdgeData* edges = nullptr;  // null where the driver has none
  std::size_t count = 0;
};
[[nodiscard]] CUresult try_query_capture(CUstream stream, stream_capture_info& info) noexcept;
// Which capture it is in. Asks for nothing that the driver would have to keep, so that whoever
// captures there may ask for that at the same time.
[[nodiscard]] CUresult query_capture_id(CUstream stream, CUstreamCaptureStatus& status,
                                        cuuint64_t& id) noexcept;
[[nodiscard]] stream_capture_info query_capture(CUstream stream, call_site at);
// The stream was just seen to be in that part: a capture by hand that began there and is another
// has ended directly through the driver.
void remove_ended_capture(CUstream stream, const stream_capture_info& now) noexcept;

// What weir knows of the capture that the stream takes part in, or took part in before it broke; an
// id of 0 if nothing.
struct capture_snapshot {
  active_capture capture;
  bool is_origin = false;
  int participant_count = 0;  // by so many capture_participant
  std::vector<joined_stream> joined;
};
[[nodiscard]] capture_snapshot find_capture(CUstream stream, const stream_capture_info& info);

// Ends the capture in the driver, whatever it takes: an end that fails without ending it is made
// once more. Gives what the first said, and the graph if it is there.
struct driver_end_result {
  CUresult answer;
  CUgraph graph = nullptr;
};
driver_end_result end_in_driver(CUstream stream) noexcept;

// Is the stream in no capture any more, or in another one than the scope's? 0 is that of no scope.
[[nodiscard]] bool has_ended(unsigned long long scope, CUstreamCaptureStatus status,
                             cuuint64_t id) noexcept;

// A capture has come to nothing, and its end has left that graph, or none: a given one gets rid of
// what was recorded (if there still is a record of it), where the driver lets go of nodes; others
// are destroyed. Gives a given one that the driver has destroyed; else null.
[[nodiscard]] CUgraph discard_recorded(const active_capture& capture, const capture_record* record,
                                       CUgraph remaining_graph) noexcept;

// What was left to a capture that has ended, unless the driver has destroyed that with it.
void destroy_ownerless(CUgraph ownerless_graph, CUgraph destroyed) noexcept;

// "the capture begun at main.cpp:12 in own_thread mode by thread 4711"
[[nodiscard]] std::string to_text(const active_capture& capture);
// "broken by cuMemAlloc at main.cpp:14 (CUDA_ERROR_..., thread 4711)"
[[nodiscard]] std::string to_text(const capture_invalidation& invalidation);

}  // namespace weir::detail
