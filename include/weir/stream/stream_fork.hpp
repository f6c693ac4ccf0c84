// SPDX-License-Identifier: Apache-2.0
// weir/stream/stream_fork.hpp - divides one stream's work over several streams and joins them
// again.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/detail/export.hpp>
#include <weir/stream/stream.hpp>
#include <weir/stream/stream_pool.hpp>

#include <cstddef>
#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

namespace weir {

/// A fork: several streams that run after an origin's earlier work, until they are joined. After
/// the join, the origin's later work runs after all of theirs.
///
///   weir::stream_fork f{s, 3};  // f[0] is s
///   for (std::size_t i = 0; i < f.size(); ++i) weir::fill(f[i], part[i], 0.0f);
///   f.join();
///
/// While the origin captures, the other streams join its capture, and join() is what allows the
/// capture to end; so the origin may be a capture_scope. Outside a capture, all waits are on the
/// device; the host is never blocked. The destructor joins the streams that join() has not joined,
/// also during an exception. (cuda.core: split() and join().) Cannot be moved.
///
/// In a host function: throws `not_permitted`.
/// Thread safety: an object needs external synchronisation; the streams' operations may be called
/// from any thread.
class WEIR_EXPORT stream_fork {
 public:
  /// Forks into `count` streams including the origin. The others are created on the origin's
  /// context, with its priority, and are destroyed at the join. Suited to captures, where this
  /// costs nothing at launch. On failure none of the streams has work in the origin's capture.
  ///
  /// Throws: with nothing queued: `invalid_value` for a count below 2, `stream_capture_invalidated`
  /// if the origin's capture is invalidated.
  /// Driver: cuStreamCreateWithPriority, cuStreamGetCaptureInfo, cuEventRecord, cuStreamWaitEvent.
  stream_fork(stream_ref origin, unsigned count, call_site at = call_site::current());

  /// Forks into `count` streams including the origin. The others are lent by the pool and returned
  /// at the join.
  ///
  /// Throws: `exhausted` if the pool has too few streams.
  /// In a capture: a returned stream is lent again only after the capture. The role's limit must
  /// therefore suffice for all forks of one capture.
  stream_fork(stream_ref origin, unsigned count, const stream_pool& pool,
              std::string_view role = {}, call_site at = call_site::current());

  /// Forks into the origin and the given streams, for example {t, u}, which must outlive this
  /// object.
  ///
  /// Throws: `invalid_value` if there are none, if the origin is among them, or if one is listed
  /// twice. Throws `illegal_state` if one takes part in another capture, which stays valid.
  stream_fork(stream_ref origin, std::span<const stream_ref> branches,
              call_site at = call_site::current());
  /// Forks into the origin and the given streams, which must outlive this object.
  stream_fork(stream_ref origin, std::initializer_list<stream_ref> branches,
              call_site at = call_site::current())
      : stream_fork{origin, std::span{branches.begin(), branches.size()}, at} {}

  stream_fork(const stream_fork&) = delete;
  stream_fork& operator=(const stream_fork&) = delete;
  /// Joins the streams if join() was not called. Errors go to set_unhandled_error_handler, except
  /// for an invalidated capture, which the end of the capture reports.
  ~stream_fork();

  /// Makes the origin wait for all other streams, and gives those up: afterwards only the origin is
  /// left. Does nothing a second time. If the wait for one stream fails, the waits for the others
  /// are still made; the failed one is left to the next join() or to the destructor.
  ///
  /// Throws: `illegal_state` if the origin and the stream are no longer in one capture because a
  /// capture began or ended since the fork. (The driver would invalidate the capture.)
  /// Driver: cuStreamGetCaptureInfo, cuEventRecord, cuStreamWaitEvent.
  void join(call_site at = call_site::current());
  /// Returns true if only the origin is left.
  [[nodiscard]] bool joined() const noexcept { return streams_.size() == 1; }

  /// Returns the stream that was forked.
  [[nodiscard]] stream_ref origin() const noexcept { return streams_.front(); }
  /// Returns the stream with this number; the origin is number 0.
  ///
  /// Throws: `invalid_value` if there is no such stream, or if join() has given it up.
  [[nodiscard]] stream_ref at(std::size_t number, call_site where = call_site::current()) const;
  /// Returns the stream with this number, as at().
  [[nodiscard]] stream_ref operator[](std::size_t number) const { return at(number); }
  /// Returns the number of streams including the origin.
  [[nodiscard]] std::size_t size() const noexcept { return streams_.size(); }
  /// Returns the beginning of the streams, which is the origin.
  [[nodiscard]] const stream_ref* begin() const noexcept { return streams_.data(); }
  /// Returns the end of the streams.
  [[nodiscard]] const stream_ref* end() const noexcept { return streams_.data() + streams_.size(); }

 private:
  void fork(call_site at);

  std::vector<stream> own_streams_;
  std::vector<stream_lease> leases_;
  std::vector<stream_ref> streams_;
};

}  // namespace weir
