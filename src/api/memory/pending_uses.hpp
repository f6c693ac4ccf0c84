// SPDX-License-Identifier: Apache-2.0
// api/memory/pending_uses.hpp - the streams in which memory was used, apart from the stream that
// the memory belongs to.
#pragma once

#include "api/core/first_failure.hpp"
#include "api/stream/stream_state.hpp"
#include "driver/abi.hpp"

#include <weir/core/call_site.hpp>

#include <atomic>
#include <mutex>
#include <span>
#include <vector>

namespace weir::detail {

// A list of the uses of some memory.
//
// For a stream that weir owns, the list holds a reference to the stream, and done() queries it.
// This costs one entry, however often the stream uses the memory. Other streams may be destroyed
// before the query, and the handle of a default stream means different streams in different threads
// and contexts. Therefore each use in such a stream records an event.
//
// Thread safety: register_stream(), record(), end(), make_wait(), has_uses(), are_all_in_capture()
// and idle() may be called from any thread. The other members may be called only after end(), or
// after the last call of register_stream() and record() has returned.
class pending_uses {
 public:
  pending_uses() = default;
  pending_uses(const pending_uses&) = delete;
  pending_uses& operator=(const pending_uses&) = delete;
  ~pending_uses() { clear(); }

  // Called before the work is queued. Adds an entry for the stream unless there is one. If it
  // throws, nothing has changed.
  //
  // Returns true if the entry holds a reference to the stream, so that neither record() nor another
  // registration is needed. The stream then becomes the first of `untracked_streams`, which callers
  // compare before they register a use. A stream is removed from there before the list releases it.
  bool register_stream(abi::CUstream stream, std::span<abi::CUstream> untracked_streams,
                       call_site at);
  // Called after the work was queued, if register_stream() returned false. Records the event of the
  // entry, unless the stream is capturing. If that fails, waits for the work. Throws only if that
  // wait fails, too.
  void record(abi::CUstream stream, call_site at);

  // Makes the list ignore later uses, which may only be those of an invalid address. Then members
  // that are not thread-safe may be called.
  void end() noexcept;
  // Removes all uses.
  void clear() noexcept;
  // Makes the empty list accept uses again.
  void restart() noexcept { ended_.store(false, std::memory_order_relaxed); }
  [[nodiscard]] bool empty() const noexcept { return uses_.empty(); }

  // Makes work that is queued in `waiter` from now on wait for all uses so far, on the device. If
  // one wait fails, notes the failure and continues with the other uses.
  //
  // If `waiter` is in a capture, waits only for the uses in that capture.
  void make_wait(abi::CUstream waiter, first_failure& failure) noexcept;

  // Like empty() and all_in_capture(); may be called from any thread.
  [[nodiscard]] bool has_uses() noexcept;
  [[nodiscard]] bool are_all_in_capture(unsigned long long id) noexcept;
  // Returns true if no stream of a use is busy or in a capture. Later work of the streams counts,
  // too. May be called from any thread.
  [[nodiscard]] bool idle() noexcept;

  // Blocks the calling thread until all uses are done.
  void sync(first_failure& failure) noexcept;

  // Returns a stream that the list holds and that is in a capture, valid or invalidated; null if
  // there is none. The host cannot wait for such a stream.
  [[nodiscard]] abi::CUstream capturing_stream() const noexcept;

  // Returns true if the streams of all uses are in the capture with this id (capture_of()), which
  // may be no_capture. A stream to which the list holds no reference counts as in no capture.
  [[nodiscard]] bool all_in_capture(unsigned long long id) const noexcept;

  // Records an event in each stream that the list holds and releases the stream, so that done()
  // ignores later work of the stream. If the event cannot be recorded, the list keeps the stream,
  // and done() queries the stream itself.
  //
  // Does nothing and returns false if such a stream is in a capture, valid or invalidated. Locks
  // lock_capture_begin(), so that no capture begins through weir between the check and the records.
  [[nodiscard]] bool snapshot_unless_captured(first_failure& failure) noexcept;
  // Called after snapshot_unless_captured() returned true. Returns true if all uses are done; a
  // failed use counts as done.
  [[nodiscard]] bool done() const noexcept;

 private:
  // Identifies a stream. The handle of a default stream stands for a different stream in each
  // context.
  struct stream_key {
    abi::CUstream stream;
    abi::CUcontext context;     // for default streams; else null
    unsigned long long thread;  // for the per-thread default stream; else 0
    friend bool operator==(const stream_key&, const stream_key&) noexcept = default;
  };
  struct use {
    stream_key key;
    stream_state* state;  // reference, if weir owns the stream and no snapshot was taken
    abi::CUevent event;   // otherwise; owned by this entry
  };
  [[nodiscard]] static stream_key key_of(abi::CUstream stream, call_site at);
  [[nodiscard]] static unsigned long long capture_of_use(const use& u) noexcept;
  [[nodiscard]] use* find(const stream_key& key) noexcept;
  void snapshot(first_failure& failure) noexcept;
  // Removes and returns entries of streams that are idle and have no users (stream_holder::user).
  // Without this, memory that exists for long would keep streams alive that the program has closed.
  // The caller holds lock_ now, and releases the streams without it.
  [[nodiscard]] std::vector<use> take_finished(call_site at);
  static void push_front_untracked(abi::CUstream stream,
                                   std::span<abi::CUstream> untracked_streams) noexcept;
  static void remove_untracked(const std::vector<use>& finished,
                               std::span<abi::CUstream> untracked_streams) noexcept;

  std::mutex lock_;
  std::vector<use> uses_;
  std::atomic<bool> ended_{false};  // set while lock_ is held
};

}  // namespace weir::detail
