// SPDX-License-Identifier: Apache-2.0
// weir/stream/stream_pool.hpp - pools of streams that are lent and returned instead of created and
// destroyed.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/detail/duration.hpp>
#include <weir/detail/export.hpp>
#include <weir/device/device.hpp>
#include <weir/stream/stream.hpp>
#include <weir/stream/stream_attributes.hpp>

#include <initializer_list>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

namespace weir {
namespace detail {
class stream_pool_state;
struct stream_pool_slot;
}  // namespace detail

/// A role of a pool: a group of streams for one purpose, with a name and common options. Each
/// stream of the pool belongs to one role.
struct stream_role {
  std::string_view name = {};  ///< the pool copies the text
  stream_options streams = {};
  unsigned limit = 16;            ///< maximum number of streams, 1 to 1024
  stream_settings settings = {};  ///< attributes of each stream
};

/// A stream lent by a stream_pool to one holder at a time. Derives from stream_ref. Destroying the
/// lease returns the stream, even if its work is still pending. Work of the next holder then runs
/// after that work. A lease may outlive its pool: the stream is then destroyed when the lease ends.
///
/// Move-only. A moved-from or closed lease throws `closed` when used.
///
/// Thread safety: the operations of stream_ref may be called from any thread. Moving and closing
/// need external synchronisation.
class WEIR_EXPORT stream_lease : public stream_ref {
 public:
  stream_lease(stream_lease&& other) noexcept
      : stream_ref{other}, state_{std::move(other.state_)}, slot_{other.slot_} {
    other.reset();
  }
  stream_lease& operator=(stream_lease&& other) noexcept;
  /// Returns the stream to its pool, without a driver call. If the pool was destroyed, destroys the
  /// stream, as ~stream() does. Both are allowed in a capture and in a host function.
  ~stream_lease() { close(); }

  /// Returns the stream to its pool now. Does nothing if the lease is closed already.
  void close() noexcept;
  /// Returns true if the lease was closed or moved from.
  [[nodiscard]] bool closed() const noexcept { return state_ == nullptr; }

  /// Returns the reference to the stream.
  [[nodiscard]] stream_ref ref() const noexcept { return *this; }
  /// Gives access to the stream's operations.
  const stream_ref* operator->() const noexcept { return this; }

 private:
  friend class stream_pool;
  stream_lease(std::shared_ptr<detail::stream_pool_state> state,
               detail::stream_pool_slot& slot) noexcept;
  void reset() noexcept {
    exchange_handle(detail::closed_handle<CUstream_st>());
    state_ = nullptr;
    slot_ = nullptr;
  }

  std::shared_ptr<detail::stream_pool_state> state_;  ///< null if closed
  detail::stream_pool_slot* slot_;
};

/// A pool of streams of one device, created on demand and kept.
///
///   weir::stream_pool pool{gpu, {{.name = "copies", .streams = {.priority = -1}},
///                                {.name = "work", .limit = 4}}};
///   weir::stream_lease s = pool.acquire("work");
///
/// acquire() is for work that needs a stream of its own. It lends the stream that was returned
/// longest ago if its work has finished. If the work is pending, or if all streams are lent, it
/// creates a stream. If the role's limit is reached, it lends the stream that was returned longest
/// ago although its work is pending. next() is for work that only has to be spread over several
/// streams. A stream that was returned while it captures is not lent until its capture has ended.
///
/// In a capture: allowed.
/// In a host function: throws `not_permitted`.
/// Thread safety: all members may be called from any thread; they take no lock.
class WEIR_EXPORT stream_pool {
 public:
  /// Creates a pool with one role on the primary context of the device. Creates one stream, so that
  /// unsupported options are reported here. On failure nothing is left behind.
  ///
  /// Throws: `invalid_value` for a limit of 0 or above 1024.
  /// Driver: cuStreamCreateWithPriority, cuStreamSetAttribute.
  explicit stream_pool(weir::device gpu, stream_role role = {},
                       call_site at = call_site::current());
  /// Creates a pool with several roles on the primary context of the device. Creates the first
  /// stream of each role, so that unsupported options are reported here. On failure nothing is left
  /// behind.
  ///
  /// Throws: `invalid_value` for an empty list, a limit of 0 or above 1024, and two roles of one
  /// name.
  /// Driver: cuStreamCreateWithPriority, cuStreamSetAttribute.
  stream_pool(weir::device gpu, std::initializer_list<stream_role> roles,
              call_site at = call_site::current());
  stream_pool(stream_pool&&) noexcept = default;
  stream_pool& operator=(stream_pool&& other) noexcept;
  /// Destroys the streams that are not lent; the others are destroyed when they are returned.
  /// Queued work still runs.
  ~stream_pool() { close(); }

  /// Closes the pool now, as the destructor does. Errors go to set_unhandled_error_handler. Does
  /// nothing if it is closed already.
  void close() noexcept;
  /// Returns true if the pool was closed or moved from.
  [[nodiscard]] bool closed() const noexcept { return state_ == nullptr; }

  // In acquire(), try_acquire(), acquire_for(), next() and count(), an empty role name stands for
  // the first role, and an unknown name throws `invalid_value`. If the context has become unusable,
  // acquire() and next() throw its error, and the pool does not change.

  /// Lends a stream of a role. An empty name stands for the first role.
  ///
  /// Throws: `exhausted` if the limit is reached and each stream of the role is lent, or still
  /// captures since it was returned; `invalid_value` for an unknown role.
  /// Driver: cuStreamIsCapturing, cuStreamQuery.
  [[nodiscard]] stream_lease acquire(std::string_view role = {},
                                     call_site at = call_site::current()) const;
  /// Like acquire(), but returns an empty optional where acquire() throws `exhausted`.
  ///
  /// Driver: cuStreamIsCapturing, cuStreamQuery.
  [[nodiscard]] std::optional<stream_lease> try_acquire(std::string_view role = {},
                                                        call_site at = call_site::current()) const;
  /// Like try_acquire(), but waits up to `timeout` for a stream. The first attempt is immediate;
  /// the thread sleeps between further attempts. Returns an empty optional on timeout.
  template <detail::duration_like Duration>
  [[nodiscard]] std::optional<stream_lease> acquire_for(const Duration& timeout,
                                                        std::string_view role = {},
                                                        call_site at = call_site::current()) const {
    return acquire_for_nanoseconds(detail::nanoseconds(timeout), role, at);
  }

  /// Returns the streams of a role in turn, without a lease. Each call creates a stream until the
  /// limit is reached. The reference is valid while the pool is open. Other callers of next() get
  /// this stream as well, and acquire() may lend it. So do not use next() for a role whose leases
  /// must be exclusive.
  ///
  /// Throws: `exhausted` if the limit is reached and all streams of the role capture.
  /// Driver: cuStreamIsCapturing.
  [[nodiscard]] stream_ref next(std::string_view role = {},
                                call_site at = call_site::current()) const;

  /// Numbers of streams of a role.
  struct counts {
    unsigned limit = 0;    ///< stream_role::limit
    unsigned created = 0;  ///< streams that exist, including those that are lent
    unsigned leased = 0;   ///< streams that are lent
  };
  /// Returns the numbers of streams of a role. Other threads may change them during the call. Makes
  /// no driver call.
  [[nodiscard]] counts count(std::string_view role = {}, call_site at = call_site::current()) const;
  /// Returns the device of the pool.
  [[nodiscard]] weir::device device(call_site at = call_site::current()) const;

 private:
  [[nodiscard]] detail::stream_pool_state& open(const char* call, call_site at) const;
  [[nodiscard]] std::optional<stream_lease> acquire_for_nanoseconds(long long timeout,
                                                                    std::string_view role,
                                                                    call_site at) const;

  std::shared_ptr<detail::stream_pool_state> state_;  ///< null if closed
};

}  // namespace weir
