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

/// A fork of a stream, the origin, into several streams. Their work runs after the work queued in
/// the origin before the fork. After join(), later work of the origin runs after all work of the
/// other streams.
///
///   weir::stream_fork f{s, 3};  // f[0] is s
///   for (std::size_t i = 0; i < f.size(); ++i) weir::fill(f[i], part[i], 0.0f);
///   f.join();
///
/// If the origin captures (it may be a capture_scope), the other streams take part in its capture,
/// which can only end after join(). Outside a capture, all waits are on the device; the host is
/// never blocked. The destructor joins the streams that join() has not joined, also during an
/// exception. The Python library cuda.core has split() and join() for this. Cannot be moved.
///
/// In a host function: throws `not_permitted`.
/// Thread safety: an object needs external synchronisation; the streams' operations may be called
/// from any thread.
class WEIR_EXPORT stream_fork {
 public:
  /// Forks into `count` streams including the origin. The other streams are created on the origin's
  /// context, with its priority, and are destroyed at the join. Suited to captures: creating the
  /// streams costs nothing when the graph is launched. If the constructor throws, no stream has to
  /// be joined to the origin's capture.
  ///
  /// Throws: with nothing queued: `invalid_value` for a count below 2, `stream_capture_invalidated`
  /// if the origin's capture is invalidated.
  /// Driver: cuStreamCreateWithPriority, cuStreamGetCaptureInfo, cuEventRecord, cuStreamWaitEvent.
  stream_fork(stream_ref origin, unsigned count, call_site at = call_site::current());

  /// Forks into `count` streams including the origin. The pool lends the other streams, which are
  /// returned at the join.
  ///
  /// Throws: `exhausted` if the pool has too few streams.
  /// In a capture: a returned stream is lent again only after the capture. The role's limit must
  /// therefore suffice for all forks of one capture.
  stream_fork(stream_ref origin, unsigned count, const stream_pool& pool,
              std::string_view role = {}, call_site at = call_site::current());

  /// Forks into the origin and the given streams, for example {t, u}, which must outlive this
  /// object.
  ///
  /// Throws: `invalid_value` if `branches` is empty, contains the origin, or contains a stream
  /// twice. Throws `illegal_state` if one of the streams takes part in another capture than the
  /// origin; that capture stays valid.
  stream_fork(stream_ref origin, std::span<const stream_ref> branches,
              call_site at = call_site::current());
  /// Forks into the origin and the given streams, as the constructor with a span does. The streams
  /// must outlive this object.
  stream_fork(stream_ref origin, std::initializer_list<stream_ref> branches,
              call_site at = call_site::current())
      : stream_fork{origin, std::span{branches.begin(), branches.size()}, at} {}

  stream_fork(const stream_fork&) = delete;
  stream_fork& operator=(const stream_fork&) = delete;
  /// Joins the streams that join() has not joined. Errors go to set_unhandled_error_handler, except
  /// for an invalidated capture, which the end of the capture reports.
  ~stream_fork();

  /// Makes the origin wait for all other streams and removes them from the fork, so that only the
  /// origin is left. A second call does nothing. If the wait for one stream fails, the other
  /// streams are still joined. The stream whose wait failed stays in the fork; the next join() or
  /// the destructor tries again.
  ///
  /// Throws: `illegal_state` if the origin and a stream of the fork are no longer in one capture,
  /// because a capture began or ended after the fork. (The driver would invalidate the capture.)
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

  std::vector<stream> own_streams_;   ///< the streams that the constructor created; may be empty
  std::vector<stream_lease> leases_;  ///< the streams that a pool has lent; may be empty
  std::vector<stream_ref> streams_;   ///< the origin, then the streams that are not joined yet
};

}  // namespace weir
