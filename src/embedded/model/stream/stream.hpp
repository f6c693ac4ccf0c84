// model/stream.hpp - a stream: work that runs in the order in which it was submitted.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>

#include "driver/abi.hpp"
#include "embedded/engine/operation.hpp"
#include "embedded/engine/timeline.hpp"
#include "embedded/model/stream/stream_attributes.hpp"
#include "embedded/model/stream/work.hpp"

namespace weir::embedded::model {

class capture;
class context;

// The range of priorities, as on an H200; the smaller number is the higher priority. The engine
// takes them as a hint only.
inline constexpr int lowest_priority = 0;
inline constexpr int highest_priority = -5;

// What a stream is to the legacy default stream of its context.
enum class stream_role : std::uint8_t {
  non_blocking,  // takes no part
  blocking,      // orders with it, in both directions
  legacy,        // is it
};

// A stream of a context. Objects are reused (handle_table.hpp): open() begins a life, close() ends
// it.
//
// Thread safety: all members, from any thread.
class stream {
 public:
  // Begins a life as a stream of `in`. Throws std::bad_alloc.
  void open(context& in, stream_role role, unsigned flags, int priority);

  // Ends it: returns at once, and what was submitted still runs; afterwards the object is free for
  // reuse. The handle must have been retired before.
  void close() noexcept;

  // The same with its context, once all its work is done: the object stays, as a stream of `of`,
  // which is not alive.
  void end(context& of) noexcept;

  // cuStreamDestroy, of one that was found by that handle.
  static abi::CUresult destroy(stream& found, const void* handle) noexcept;

  // Is it the default stream of a thread, whose handle nobody is told?
  [[nodiscard]] bool is_thread_default() const noexcept { return is_thread_default_; }
  void set_thread_default() noexcept { is_thread_default_ = true; }

  // Submits work behind everything the stream has, or adds it to the capture that the stream is
  // part of. Throws std::bad_alloc, and then nothing was submitted.
  abi::CUresult submit(const memset_work& work);
  abi::CUresult submit(const copy_work& work);
  abi::CUresult submit(const pitched_copy_work& work);
  abi::CUresult submit(const host_work& work);
  abi::CUresult submit(const value_wait& work);
  abi::CUresult submit(const value_write& work);

  // Submits an operation of the engine, whatever the capture state. Gives the point at which it is
  // complete.
  engine::point submit(const engine::operation& op);

  // Submits what fill(submission) adds, as one step; also if it throws, what it has added by then.
  // Gives the point at which it is complete.
  template <class Fill>
  engine::point submit_many(Fill&& fill) {
    engine::timeline::submission to{*line_};
    if (role_ != stream_role::non_blocking) order_with_default_stream(to);
    fill(to);
    return to.end();
  }

  // The point that everything submitted so far leads to. In the legacy stream it covers the
  // blocking streams, and in each stream it is work: what is ordered with the legacy stream by it
  // stays so.
  engine::point record();

  // The same for the end of the use of some memory: behind every event that was recorded before.
  engine::point end_of_use();

  // Makes later work wait until the point is reached.
  void wait(engine::point until);

  // Is everything submitted so far complete? For the legacy stream: in the blocking streams, too.
  [[nodiscard]] bool idle();

  // Returns once it is. The calling thread runs what there is to run.
  void synchronize();

  [[nodiscard]] context& owner() const noexcept {
    return *context_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] stream_role role() const noexcept { return role_; }
  [[nodiscard]] unsigned flags() const noexcept { return flags_; }
  [[nodiscard]] int priority() const noexcept { return priority_.load(std::memory_order_relaxed); }
  void set_priority(int priority) noexcept { priority_.store(priority, std::memory_order_relaxed); }
  [[nodiscard]] unsigned long long id() const noexcept { return id_; }
  [[nodiscard]] engine::timeline& line() const noexcept { return *line_; }

  stream_attributes attributes;  // guarded by the functions of stream_attributes.hpp

  // The capture that the stream is part of; null for none. Guarded by the capture's own lock
  // (capture.hpp).
  [[nodiscard]] class capture* capture() const noexcept {
    return capture_.load(std::memory_order_acquire);
  }
  void set_capture(class capture* c) noexcept { capture_.store(c, std::memory_order_release); }

 private:
  static constexpr std::uint64_t no_end = std::numeric_limits<std::uint64_t>::max();

  void order_with_default_stream(engine::timeline::submission& to);
  [[nodiscard]] bool work_done() const noexcept;

  std::atomic<context*> context_{nullptr};
  engine::timeline* line_ = nullptr;
  stream_role role_ = stream_role::non_blocking;
  std::atomic<int> priority_{0};
  unsigned flags_ = 0;
  bool is_thread_default_ = false;
  bool ended_ = false;  // with its context; for whoever has retired its handle
  unsigned long long id_ = 0;
  std::uint64_t legacy_count_waited_ =
      0;  // how much of the legacy stream this one already waits for; guarded by its line
  std::uint64_t count_legacy_waited_ =
      0;  // how much of this one the legacy stream already waits for; guarded by that line
  std::atomic<std::uint64_t> end_of_work_{
      no_end};  // behind it a closed one has what is the driver's own
  std::atomic<class capture*> capture_{nullptr};
};

}  // namespace weir::embedded::model
