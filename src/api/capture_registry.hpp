// api/capture_registry.hpp - what is known of each open capture that was begun through weir.
#pragma once

#include "api/captures.hpp"
#include "api/guard.hpp"
#include "api/stream_state.hpp"

#include <memory>
#include <mutex>
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
  CUcontext context;  // null if weir does not own the stream
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
  // May the calling thread ask the origin how it is? A per-thread stream has its name in its own thread only.
  [[nodiscard]] bool can_be_asked() const noexcept { return begun_in(what.origin); }

  open_capture what;
  std::vector<joined_stream> joined;  // streams that weir has seen join, without the origin
  std::vector<CUevent> events;        // whose last record is part of the capture
  capture_offence first;

 private:
  stream_state* held_;    // so that the origin is there to end the capture
  capture_mark counted_;  // the capture is open for as long as this lives
};

// All of them. The lock is held for looks at the records only, never while the driver is called.
class capture_registry {
 public:
  // Captures may be ended while statics are destroyed.
  [[nodiscard]] static capture_registry& instance() noexcept;

  // Room for one more, so that add() cannot fail.
  void reserve();
  void add(std::unique_ptr<capture_record> record) noexcept;
  // Takes the one of that id away; null if there is none.
  [[nodiscard]] std::unique_ptr<capture_record> take(unsigned long long id) noexcept;

  template <class F>
  void each(F&& look) {
    const std::lock_guard lock{lock_};
    for (const auto& record : records_) look(*record);
  }

 private:
  std::mutex lock_;
  std::vector<std::unique_ptr<capture_record>> records_;
};

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
[[nodiscard]] capture_part capture_part_of(CUstream stream, call_site at);

// "the capture begun at main.cpp:12 in own_thread mode by thread 4711"
[[nodiscard]] std::string to_text(const open_capture& capture);
// "broken by cuMemAlloc at main.cpp:14 (CUDA_ERROR_..., thread 4711)"
[[nodiscard]] std::string to_text(const capture_offence& first);

}  // namespace weir::detail
