// api/capture/capture_registry.hpp - what is known of each open capture that was begun through weir.
#pragma once

#include "api/capture/captures.hpp"
#include "api/core/guard.hpp"
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
struct capture_offence {
  const char* call = nullptr;
  errc code = errc::success;
  call_site where;
  int thread_id = 0;
};

struct joined_stream {
  CUstream stream;
  CUcontext context;          // null if weir does not own the stream
  unsigned long long thread;  // thread_number() of who made it join

  // As the calling thread names streams?
  [[nodiscard]] bool is(CUstream other) const noexcept;
};

struct capture_record {
  explicit capture_record(CUstream stream) noexcept : held_{hold_stream(stream, share::user)} {}
  capture_record(const capture_record&) = delete;
  capture_record& operator=(const capture_record&) = delete;
  ~capture_record() {
    if (held_ != nullptr) held_->drop(share::user);
  }

  // Is it begun in that stream, as the calling thread names streams?
  [[nodiscard]] bool begun_in(CUstream stream) const noexcept;
  // Has it begun in that stream, or has weir seen it join?
  [[nodiscard]] bool has(CUstream stream) const noexcept;
  // Is one of those streams of that context?
  [[nodiscard]] bool has_context(CUcontext context) const noexcept;
  // May the calling thread ask the origin how it is? Of another thread's capture a stream that weir owns, which is there for as
  // long as this is: others that thread may just destroy, and a GPU's driver crashes when a stream is named that is gone.
  [[nodiscard]] bool can_be_asked() const noexcept;

  open_capture what;
  std::vector<joined_stream> joined;  // streams that weir has seen join, without the origin
  std::vector<CUevent> events;        // whose last record is part of the capture
  std::vector<CUgraphNode> before;    // of a given graph: the nodes that it had, sorted
  CUgraph orphan = nullptr;           // a given graph, or what that is a part of, whose owner is gone
  capture_offence first;
  bool broken_past_weir = false;  // found broken before weir knew of any call that could have done it

  int entered = 0;      // how many outer_capture take part in it
  int asked = 0;        // about, by so many threads: until that is 0 it stays
  bool ending = false;  // whoever ends it takes the record, though the driver may call it ended already
  std::unique_ptr<capture_record> left;  // this, out of the registry: the last one who asks lets go of it

  // It is open no more.
  void uncount() noexcept { counted_.reset(); }

 private:
  stream_state* held_;  // so that the origin is there to end the capture
  std::optional<capture_mark> counted_{std::in_place};
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
  [[nodiscard]] std::unique_ptr<capture_record> take(unsigned long long id) noexcept;
  // For what takes part in the capture of that id: is it known? Where it is not, as it was begun past weir, the record makes
  // it known, unless another thread's has meanwhile. There has to be room. The last one to leave such a one takes it away.
  [[nodiscard]] bool enter(unsigned long long id) noexcept;
  void enter(std::unique_ptr<capture_record>& first) noexcept;
  void let_go(unsigned long long id) noexcept;
  // From here on the caller ends the one of that id, and takes it; nobody asks about it any more.
  void begin_end(unsigned long long id) noexcept;

  // Of each that want(record) is true of and that can be asked: calls ask(record), which throws nothing, without the lock, and
  // then, with it, learn(record, what ask said). What learn says has ended is in here no more afterwards. How many have,
  // by now. Throws bad_alloc.
  template <class Want, class Ask, class Learn>
  std::size_t ask_each(Want&& want, Ask&& ask, Learn&& learn);

  template <class F>
  void each(F&& look) {
    const std::lock_guard lock{lock_};
    for (const auto& record : records_) look(*record);
  }

 private:
  using records = std::vector<std::unique_ptr<capture_record>>;

  // All with the lock held. The last gives what the caller destroys without it.
  [[nodiscard]] records::iterator find(unsigned long long id) noexcept;
  void leave(capture_record& record) noexcept;
  [[nodiscard]] std::unique_ptr<capture_record> end_asking(capture_record& record) noexcept;

  std::mutex lock_;
  std::condition_variable answered_;  // a record is asked about by nobody any more
  records records_;
};

template <class Want, class Ask, class Learn>
std::size_t capture_registry::ask_each(Want&& want, Ask&& ask, Learn&& learn) {
  std::vector<capture_record*> asked;
  {
    const std::lock_guard lock{lock_};
    asked.reserve(records_.size());
    for (const auto& record : records_) {
      if (record->ending || !record->can_be_asked() || !want(std::as_const(*record))) continue;
      ++record->asked;
      asked.push_back(record.get());
    }
  }
  std::size_t ended = 0;
  for (capture_record* const record : asked) {
    const auto answer = ask(std::as_const(*record));
    std::unique_ptr<capture_record> gone;  // its stream may go with it, for which the driver is called
    const std::lock_guard lock{lock_};
    if (learn(*record, answer) && !record->ending) {
      ++ended;
      leave(*record);
    }
    gone = end_asking(*record);
  }
  return ended;
}

// A stream's part in a capture, as the driver tells it. What it points to is the driver's, until the next call on the
// capture.
struct capture_part {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  cuuint64_t id = 0;
  CUgraph graph = nullptr;
  const CUgraphNode* nodes = nullptr;
  const CUgraphEdgeData* edges = nullptr;  // null where the driver has none
  std::size_t count = 0;
};
[[nodiscard]] CUresult ask_capture(CUstream stream, capture_part& part) noexcept;
// Which capture it is in. Asks for nothing that the driver would have to keep, so that whoever captures there may ask for
// that at the same time.
[[nodiscard]] CUresult ask_which_capture(CUstream stream, CUstreamCaptureStatus& status, cuuint64_t& id) noexcept;
[[nodiscard]] capture_part capture_part_of(CUstream stream, call_site at);
// The stream was just seen to be in that part: a capture by hand that began there and is another has ended past weir.
void forget_ended(CUstream stream, const capture_part& now) noexcept;

// What weir knows of the capture that the stream takes part in, or took part in before it broke; an id of 0 if nothing.
struct known_capture {
  open_capture what;
  bool begun_here = false;
  int entered = 0;  // by so many outer_capture
  std::vector<joined_stream> joined;
};
[[nodiscard]] known_capture find_known(CUstream stream, const capture_part& part);

// Ends the capture in the driver, whatever it takes: an end that fails without ending it is made once more. Gives what the
// first said, and the graph if it is there.
struct driver_end {
  CUresult answer;
  CUgraph graph = nullptr;
};
driver_end end_in_driver(CUstream stream) noexcept;

// Is the stream in no capture any more, or in another one than the scope's? 0 is that of no scope.
[[nodiscard]] bool has_ended(unsigned long long scope, CUstreamCaptureStatus status, cuuint64_t id) noexcept;

// A capture has come to nothing, and its end has left that graph, or none: a given one gets rid of what was recorded (if there
// still is a record of it), where the driver lets go of nodes; others are destroyed. Gives a given one that the driver has
// destroyed; else null.
[[nodiscard]] CUgraph give_up_recorded(const open_capture& what, const capture_record* record, CUgraph left) noexcept;

// What was left to a capture that has ended, unless the driver has destroyed that with it.
void destroy_orphan(CUgraph orphan, CUgraph destroyed) noexcept;

// "the capture begun at main.cpp:12 in own_thread mode by thread 4711"
[[nodiscard]] std::string to_text(const open_capture& capture);
// "broken by cuMemAlloc at main.cpp:14 (CUDA_ERROR_..., thread 4711)"
[[nodiscard]] std::string to_text(const capture_offence& first);

}  // namespace weir::detail
