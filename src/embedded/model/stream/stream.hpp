// SPDX-License-Identifier: Apache-2.0
// model/stream/stream.hpp - a stream: work that runs in the order in which it was submitted.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <span>

#include "driver/abi.hpp"
#include "embedded/engine/operation.hpp"
#include "embedded/engine/timeline.hpp"
#include "embedded/model/stream/operations.hpp"
#include "embedded/model/stream/stream_attributes.hpp"

namespace weir::embedded::model {

class capture;
class context;

// The range of priorities, as on an H200; a smaller number is a higher priority. The engine ignores
// priorities, which CUDA defines as hints.
inline constexpr int lowest_priority = 0;
inline constexpr int highest_priority = -5;

// How a stream is ordered with the legacy default stream of its context.
enum class stream_role : std::uint8_t {
  non_blocking,  // not ordered with it
  blocking,      // ordered with it, in both directions
  legacy,        // the legacy default stream itself
};

// A stream of a context. Its work is in a timeline, a sequence of operations that the engine runs
// in order. A point is a position in a timeline, reached when the operations before it are
// complete. Objects are reused (handle_table.hpp): open() begins a lifetime, close() ends it.
//
// Thread safety: all members may be called from any thread.
class stream {
 public:
  // Begins a lifetime as a stream of the context. Throws std::bad_alloc.
  void open(context& owner_context, stream_role role, unsigned flags, int priority);

  // Ends the lifetime and returns at once. Submitted work still runs; the object is reused once
  // that work is complete. The caller has already retired the handle.
  void close() noexcept;

  // Ends the stream together with its context. All its work is complete. The object then belongs to
  // `owner_context`, a context that is not alive. Its handle stays valid.
  void end(context& owner_context) noexcept;

  // cuStreamDestroy, for a stream that was found by `handle`.
  static abi::CUresult destroy(stream& found, const void* handle) noexcept;

  // Returns true for a thread's default stream, whose handle is not returned to the program.
  [[nodiscard]] bool is_thread_default() const noexcept { return is_thread_default_; }
  // Marks the stream as a thread's default stream. Called after open(), which clears the mark.
  void set_thread_default() noexcept { is_thread_default_ = true; }

  // Submits work to the end of the stream, or adds it to the capture that the stream is part of.
  // Returns the error of that capture if it refuses the work.
  // Throws std::bad_alloc without submitting anything.
  abi::CUresult submit(const memset_work& work);
  abi::CUresult submit(const copy_work& work);
  abi::CUresult submit(const pitched_copy_work& work);
  abi::CUresult submit(const host_work& work);
  abi::CUresult submit(const value_wait& work);
  abi::CUresult submit(const value_write& work);

  // Submits a batch of value operations, without other work in between. The stream is not part of a
  // capture. Throws std::bad_alloc without submitting anything.
  void submit_all(std::span<const value_work> works);

  // Submits an engine operation, also during a capture. Returns the point at which it is complete.
  engine::point submit(const engine::operation& op);

  // Submits the operations that fill(submission) adds. No other thread can submit work to the
  // stream in between. If fill throws, the operations added before stay submitted. Returns the
  // point at which they are complete.
  template <class Fill>
  engine::point submit_many(Fill&& fill) {
    engine::timeline::submission pending{*timeline_};
    if (role_ != stream_role::non_blocking) order_with_default_stream(pending);
    fill(pending);
    return pending.end();
  }

  // Returns the point that is reached when all work submitted to the stream so far is complete. For
  // the legacy stream this includes the work of the blocking streams. Like submitted work, the
  // point is ordered with the legacy stream; so is work that waits for the point.
  engine::point record();

  // Like record(), for the free of memory in this stream. The point comes after every event that
  // was already recorded in the stream, and after every point for which the host has waited.
  engine::point end_of_use();

  // Makes all work that is submitted to the stream after this call wait until the point is reached.
  // Throws std::bad_alloc.
  void wait(engine::point target);

  // Returns true if all work that the program has submitted to the stream so far is complete. For
  // the legacy stream this includes the work of the blocking streams.
  [[nodiscard]] bool idle();

  // Blocks until the work that idle() checks is complete. The calling thread runs operations of the
  // engine meanwhile.
  void synchronize();

  [[nodiscard]] context& owner() const noexcept {
    return *context_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] stream_role role() const noexcept { return role_; }
  [[nodiscard]] unsigned flags() const noexcept { return flags_; }
  [[nodiscard]] int priority() const noexcept { return priority_.load(std::memory_order_relaxed); }
  void set_priority(int priority) noexcept { priority_.store(priority, std::memory_order_relaxed); }
  [[nodiscard]] unsigned long long id() const noexcept { return id_; }
  [[nodiscard]] engine::timeline& timeline() const noexcept { return *timeline_; }

  stream_attributes attributes;  // guarded by the functions of stream_attributes.hpp

  // Returns the capture that the stream is part of, or null. Guarded by the lock of the graphs
  // (capture.hpp).
  [[nodiscard]] class capture* capture() const noexcept {
    return capture_.load(std::memory_order_acquire);
  }
  void set_capture(class capture* new_capture) noexcept {
    capture_.store(new_capture, std::memory_order_release);
  }

 private:
  static constexpr std::uint64_t no_end = std::numeric_limits<std::uint64_t>::max();

  template <class Visitor>
  void for_each_blocking_stream(Visitor&& visit);
  void order_with_default_stream(engine::timeline::submission& pending);
  [[nodiscard]] bool work_done() const noexcept;

  std::atomic<context*> context_{nullptr};
  engine::timeline* timeline_ = nullptr;
  stream_role role_ = stream_role::non_blocking;
  std::atomic<int> priority_{0};
  unsigned flags_ = 0;
  bool is_thread_default_ = false;
  bool ended_ = false;  // true after end(); read only by the thread that retires the handle
  unsigned long long id_ = 0;
  // Blocking streams only: the number of operations of the legacy stream for which this stream
  // already waits. Guarded by a submission to this stream.
  std::uint64_t legacy_count_waited_ = 0;
  // Blocking streams only: the number of operations of this stream for which the legacy stream
  // already waits. Guarded by a submission to the legacy stream.
  std::uint64_t count_legacy_waited_ = 0;
  // After close(): the number of operations that the program submitted. Further operations are the
  // driver's own. Before close(): no_end.
  std::atomic<std::uint64_t> end_of_work_{no_end};
  std::atomic<class capture*> capture_{nullptr};
};

}  // namespace weir::embedded::model
