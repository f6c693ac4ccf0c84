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

// A stream of weir's is held, so that it can be asked later how far it is: that costs one entry,
// however often it uses the memory. Of others, which may be gone by then, and of default streams,
// which are others in other threads and contexts, an event marks each use. Thread safety: note()
// and mark() from any thread; the rest when nobody notes any more.
class pending_uses {
 public:
  pending_uses() = default;
  pending_uses(const pending_uses&) = delete;
  pending_uses& operator=(const pending_uses&) = delete;
  ~pending_uses();

  // Before the work is queued: there is an entry for the stream afterwards, or nothing has changed.
  // Is it one that holds the stream, so that later uses on it need no more? Then the stream becomes
  // the first of `untracked_streams`, which never keep a stream that the list has let go of.
  bool register_stream(abi::CUstream stream, std::span<abi::CUstream> untracked_streams,
                       call_site at);
  // After it was queued. Where the driver cannot mark it this waits for it; fails only if that
  // cannot be either.
  void record(abi::CUstream stream, call_site at);

  // Makes later work of `waiter` wait, on the device, for all uses so far; goes on where one fails.
  void make_wait(abi::CUstream waiter, first_failure& failure) noexcept;

  // Blocks the calling thread until all uses are done.
  void sync(first_failure& failure) noexcept;

  // Is a stream that the list holds in a capture now? Then snapshot() has to wait: a mark in it
  // would be a part of the capture, and to look at that ends it.
  [[nodiscard]] bool any_captured() const noexcept;

  // A stream that the list holds and that captures, be its capture whole or broken; null if there
  // is none. Nobody can wait for it.
  [[nodiscard]] abi::CUstream capturing_stream() const noexcept;

  // Is there a use that is captured where a stream is not, or the other way round?
  [[nodiscard]] bool differs_in_capture(bool captured) const noexcept;

  // The two as one: answers whether it froze the list. No capture of weir's begins in between.
  [[nodiscard]] bool snapshot_unless_captured(first_failure& failure) noexcept;

  // Marks what uses the memory now with an event in every stream, and lets go of the streams, so
  // that done() need not look at their later work; where that fails it does.
  void snapshot(first_failure& failure) noexcept;
  // After that: are all uses done? One that failed is.
  [[nodiscard]] bool done() const noexcept;

 private:
  // Which stream a handle means: those of the default streams are others in every context.
  struct stream_key {
    abi::CUstream stream;
    abi::CUcontext context;     // of a default stream
    unsigned long long thread;  // of a per-thread one
    friend bool operator==(const stream_key&, const stream_key&) noexcept = default;
  };
  struct use {
    stream_key key;
    stream_state* state;  // of a stream of weir's; else null
    abi::CUevent event;   // of others; ours to destroy
  };
  [[nodiscard]] static stream_key key_of(abi::CUstream stream, call_site at);
  [[nodiscard]] use* find(const stream_key& key) noexcept;
  // Takes out streams that get no more work and are done, so that memory with a long life keeps no
  // more streams than are in use. The caller lets go of them, without the lock.
  [[nodiscard]] std::vector<use> take_finished(call_site at);
  static void add_untracked(abi::CUstream stream,
                            std::span<abi::CUstream> untracked_streams) noexcept;
  static void remove_untracked(const std::vector<use>& finished,
                               std::span<abi::CUstream> untracked_streams) noexcept;

  std::mutex lock_;
  std::vector<use> uses_;
};

}  // namespace weir::detail
