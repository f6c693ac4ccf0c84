// SPDX-License-Identifier: Apache-2.0
// api/memory/pending_uses.hpp - the streams, other than its own, that some memory was used on.
#pragma once

#include "api/core/first_failure.hpp"
#include "api/stream/stream_state.hpp"
#include "driver/abi.hpp"

#include <weir/core/call_site.hpp>

#include <mutex>
#include <span>
#include <vector>

namespace weir::detail {

// The list holds a reference to each stream that weir owns and queries the stream later. This costs
// one entry, however often the stream uses the memory. Other streams may have been destroyed by
// then, and default streams differ by thread and context. Each of their uses is marked by an event.
// Thread safety: register_stream() and record() may be called from any thread; the other members
// only when no thread calls these two any more.
class pending_uses {
 public:
  pending_uses() = default;
  pending_uses(const pending_uses&) = delete;
  pending_uses& operator=(const pending_uses&) = delete;
  ~pending_uses();

  // Called before the work is queued. Ensures an entry for the stream; if it throws, nothing has
  // changed. Returns true if the entry holds the stream, so that later uses need no registration.
  // The stream then becomes the first of `untracked_streams`, which never contain a stream that the
  // list has released.
  bool register_stream(abi::CUstream stream, std::span<abi::CUstream> untracked_streams,
                       call_site at);
  // Called after the work was queued. Records the event of the entry. If that fails, waits for the
  // work; throws only if that fails, too.
  void record(abi::CUstream stream, call_site at);

  // Makes later work of `waiter` wait on the device for all uses so far. Continues if one wait
  // fails.
  void make_wait(abi::CUstream waiter, first_failure& failure) noexcept;

  // Blocks the calling thread until all uses are done.
  void sync(first_failure& failure) noexcept;

  // Returns true if a held stream is in a valid capture. snapshot() must then wait: an event
  // recorded in the capture would become part of it, and querying that event would invalidate it.
  [[nodiscard]] bool any_captured() const noexcept;

  // Returns a held stream that is in a capture, valid or invalidated; null if there is none. No
  // thread can wait for such a stream.
  [[nodiscard]] abi::CUstream capturing_stream() const noexcept;

  // Returns true if some use is captured although `captured` is false, or the other way round.
  [[nodiscard]] bool differs_in_capture(bool captured) const noexcept;

  // Calls snapshot() unless any_captured(), and returns true if it did. No capture of weir begins
  // in between.
  [[nodiscard]] bool snapshot_unless_captured(first_failure& failure) noexcept;

  // Marks the uses so far with an event in each stream and releases the streams, so that done()
  // ignores their later work. If recording an event fails, the stream is kept and queried itself.
  void snapshot(first_failure& failure) noexcept;
  // Called after snapshot(). Returns true if all uses are done; a failed use counts as done.
  [[nodiscard]] bool done() const noexcept;

 private:
  // Identifies a stream. The handle of a default stream stands for a different stream in each
  // context.
  struct stream_key {
    abi::CUstream stream;
    abi::CUcontext context;     // for default streams
    unsigned long long thread;  // for the per-thread stream
    friend bool operator==(const stream_key&, const stream_key&) noexcept = default;
  };
  struct use {
    stream_key key;
    stream_state* state;  // for streams that weir owns; otherwise null
    abi::CUevent event;   // for other streams; owned by this entry
  };
  [[nodiscard]] static stream_key key_of(abi::CUstream stream, call_site at);
  [[nodiscard]] use* find(const stream_key& key) noexcept;
  // Removes streams that have no users and are done, so that long-lived memory keeps no more
  // streams than are in use. The caller releases them without the lock.
  [[nodiscard]] std::vector<use> take_finished(call_site at);
  static void push_front_untracked(abi::CUstream stream,
                                   std::span<abi::CUstream> untracked_streams) noexcept;
  static void remove_untracked(const std::vector<use>& finished,
                               std::span<abi::CUstream> untracked_streams) noexcept;

  std::mutex lock_;
  std::vector<use> uses_;
};

}  // namespace weir::detail
