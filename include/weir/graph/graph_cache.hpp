// SPDX-License-Identifier: Apache-2.0
// weir/graph/graph_cache.hpp - work that is captured at its first use, and replayed as a graph
// afterwards.
#pragma once

#include <weir/capture/capture.hpp>
#include <weir/core/call_site.hpp>
#include <weir/core/error.hpp>
#include <weir/detail/export.hpp>
#include <weir/detail/keep_alive.hpp>
#include <weir/graph/graph.hpp>
#include <weir/stream/stream.hpp>

#include <concepts>
#include <cstddef>
#include <optional>
#include <type_traits>
#include <typeindex>  // the cheapest header with std::hash
#include <utility>

namespace weir {

class cache_scope;

namespace detail {
class graph_cache_base;
class cache_table;
class keep_until_idle;

template <class Body>
concept cached_body = std::is_invocable_v<Body, cache_scope&> || std::is_invocable_v<Body>;

/// The operations of a key's type.
struct cache_key_type {
  bool (*equal)(const void* a, const void* b);
  void* (*copy)(const void* key);
  void (*destroy)(void* copy) noexcept;
};
/// A key without its type: its hash, its address, and the operations of its type.
struct cache_key {
  std::size_t hash;
  const void* value;
  const cache_key_type* type;
};

/// A body without its type.
struct cache_body {
  void* function;
  void (*call)(void* function, cache_scope& scope);
};

/// The default comparison of keys.
struct key_equal {
  template <class Key>
  [[nodiscard]] constexpr bool operator()(const Key& a, const Key& b) const {
    return a == b;
  }
};

}  // namespace detail

/// Says how graph_cache::run() ran a body.
enum class cache_use : unsigned char {
  replayed,        ///< not called: its graph was launched
  captured,        ///< called in a capture; the graph was instantiated and launched
  updated,         ///< like captured, but the existing executable was updated
  reinstantiated,  ///< like captured; the existing executable could not be updated, so replaced
  /// Called with the stream itself: its operations were queued like any others.
  eager,
  recorded,  ///< called in a capture that was already open; the work is a part of that capture
};

/// Counts of each kind of use, and of other events. `eager` also counts uses that followed an
/// invalidated capture.
struct graph_cache_counts {
  unsigned long long replayed = 0;
  unsigned long long captured = 0;
  unsigned long long updated = 0;
  unsigned long long reinstantiated = 0;
  unsigned long long eager = 0;
  unsigned long long recorded = 0;
  unsigned long long failed = 0;   ///< failed attempts to make an executable
  unsigned long long evicted = 0;  ///< keys that were removed to make room
  std::size_t size = 0;            ///< keys in the cache now, counted once per context
};

/// Options of a graph_cache.
struct graph_cache_options {
  /// The largest number of keys, counted once per context; at least 1. The least recently used key
  /// makes room for a new one.
  std::size_t capacity = 128;
  /// Options of every capture.
  capture_options capture = {};
  /// Options of every executable. upload_in is ignored, since an executable is launched as soon as
  /// it is instantiated.
  instantiate_options instantiate = {};
};

/// The argument of a body: the stream in which it queues its work. Use it only on the thread of the
/// body and only during the call.
class WEIR_EXPORT cache_scope {
 public:
  cache_scope(const cache_scope&) = delete;
  cache_scope& operator=(const cache_scope&) = delete;

  /// Returns the stream in which the body queues its work.
  [[nodiscard]] stream_ref stream() const noexcept { return stream_; }
  /// Converts to the stream in which the body queues its work.
  operator stream_ref() const noexcept { return stream_; }

  /// Returns true if the work is recorded, by the cache or by an open capture. Returns false if it
  /// is queued directly.
  [[nodiscard]] bool capturing() const noexcept { return uses_ == nullptr; }

  /// Keeps `owner` alive while the work may need it. For recorded work it is kept like
  /// graph_ref::keep() does. For work that is queued directly, it is kept until all work that is in
  /// the stream at the end of the body is done.
  /// The destructor of `owner` runs on a thread where CUDA calls are allowed. Pass a copy (such as
  /// of a shared_ptr), since the body may be called again. If the owner cannot be kept, this call
  /// destroys it.
  template <class Owner>
  void keep(Owner&& owner, call_site at = call_site::current()) {
    keep_share(detail::keep_alive_ref{*new detail::keep_alive_box<std::decay_t<Owner>>{
                   std::forward<Owner>(owner)}},
               at);
  }

 private:
  friend class detail::graph_cache_base;
  cache_scope(stream_ref stream, graph_ref graph, detail::keep_until_idle* kept) noexcept
      : stream_{stream}, graph_{graph}, uses_{kept} {}
  void keep_share(detail::keep_alive_ref owner, call_site at);

  stream_ref stream_;
  /// The graph being captured. Null if uses_ is not null, or if the graph must be queried.
  graph_ref graph_;
  detail::keep_until_idle* uses_;  ///< null if the work is recorded
};

namespace detail {

/// The part of a cache that does not depend on the type of its keys.
class WEIR_EXPORT graph_cache_base {
 public:
  graph_cache_base(const graph_cache_options& options, call_site at);
  graph_cache_base(const graph_cache_base&) = delete;
  graph_cache_base& operator=(const graph_cache_base&) = delete;
  ~graph_cache_base();
  cache_use run(stream_ref stream, const cache_key& key, unsigned long long version,
                cache_body body, call_site at);
  void invalidate(const cache_key& key);
  void erase(const cache_key& key);
  void clear() noexcept;
  [[nodiscard]] graph_cache_counts counts() const noexcept;
  [[nodiscard]] std::optional<error> last_failure() const;

 private:
  cache_use capture_and_run(stream_ref stream, const cache_key& key, unsigned long long context,
                            unsigned long long version, cache_body body, call_site at);
  cache_use run_in_capture(stream_ref stream, cache_body body);
  cache_use run_eagerly(stream_ref stream, cache_body body, call_site at);

  capture_options capture_;
  instantiate_options instantiate_;
  cache_table* table_;
};

}  // namespace detail

/// A cache of executables for bodies of work, found by keys. The first use of a key captures its
/// body and launches the graph. Later uses launch the graph without calling the body.
///
///   weir::graph_cache<int> steps;
///   for (int size : sizes) steps.run(s, size, [&](weir::stream_ref in) { queue_step(in, size); });
///
/// A body must have one effect, whether it is recorded, replayed, or run directly. It queues all
/// its work in the stream that it receives, and in streams that fork from it and join it again. It
/// may be called twice in one use. Its host code runs when it is called, not when its graph is
/// launched.
/// A key belongs to a context: on streams of another context it has another executable.
/// Launches of one executable run one after the other, on any streams. Uses that run directly, or
/// whose executable was replaced, may overlap with earlier uses on other streams. If they must not
/// overlap, order the streams; if they should overlap, make the stream a part of the key.
///
/// Thread safety: all members may be called from any thread. Bodies and driver calls run without
/// the cache's lock; Equal runs under it. While one thread instantiates the executable of a key,
/// other threads that use the key run their bodies directly.
template <class Key, class Hash = std::hash<Key>, class Equal = detail::key_equal>
class graph_cache {
 public:
  /// Creates an empty cache.
  ///
  /// Throws: `invalid_value` if the capacity is 0 or options exclude each other.
  explicit graph_cache(graph_cache_options options = {}, call_site at = call_site::current())
      : base_{options, at} {}
  graph_cache(const graph_cache&) = delete;
  graph_cache& operator=(const graph_cache&) = delete;
  /// Destroys the executables and never blocks. Queued launches run to their end.
  ~graph_cache() = default;

  /// Queues the work of body(scope), body(stream) or body() once, and says how. For bodies that do
  /// not change, or for which invalidate() is called.
  ///
  /// If the stream already captures, the body is called and its work becomes a part of that
  /// capture. A capture that was started directly through the driver, on a stream that weir owns,
  /// is not detected by a replay; the driver's error is reported.
  /// If the graph cannot be captured or instantiated, the body is called again with the stream
  /// itself. This happens if weir or the driver refuses an operation in a capture, if the capture
  /// is invalidated, or if it cannot be instantiated. last_failure() says why. A failed key is
  /// tried again at the 2nd use after the failure, then at the 3rd, 5th, 9th and so on, and finally
  /// at every 1025th. It is tried immediately if `version` differs or after invalidate().
  /// The legacy default stream cannot capture. There the body is called with the stream itself if
  /// the key has no executable.
  ///
  /// Throws: what the body throws in a capture, unless it is a refusal as above;
  /// `stream_capture_unjoined`, naming the streams that the body did not join. After these and
  /// std::bad_alloc, nothing is queued or cached. Also throws the error of the launch. If a body
  /// throws that runs directly, the work it has queued stays queued.
  /// In a host function: throws `not_permitted`.
  /// Driver: cuGraphLaunch; without an executable as capture(), graph_ref::instantiate() and
  /// graph_exec::update().
  template <detail::cached_body Body>
  cache_use run(stream_ref stream, const Key& key, Body&& body,
                call_site at = call_site::current()) {
    return run(stream, key, 0, std::forward<Body>(body), at);
  }
  /// Like run() without a version, for bodies that change: `version` identifies the body. If it is
  /// not the version of the executable, the body is captured again, and the executable is updated
  /// or replaced.
  template <detail::cached_body Body>
  cache_use run(stream_ref stream, const Key& key, unsigned long long version, Body&& body,
                call_site at = call_site::current()) {
    using function = std::remove_reference_t<Body>;
    const auto call = [](void* body_object, cache_scope& scope) {
      if constexpr (std::is_invocable_v<function&, cache_scope&>) {
        static_cast<void>((*static_cast<function*>(body_object))(scope));
      } else {
        static_cast<void>(scope);
        static_cast<void>((*static_cast<function*>(body_object))());
      }
    };
    return base_.run(stream, erase_type(key), version,
                     {const_cast<void*>(static_cast<const void*>(&body)), call}, at);
  }

  /// States that the body of this key has changed. Its next use captures it again, in every
  /// context. Does nothing if the cache lacks the key.
  void invalidate(const Key& key) { base_.invalidate(erase_type(key)); }
  /// Removes the key. Queued launches run to their end.
  ///
  /// In a capture: allowed.
  void erase(const Key& key) { base_.erase(erase_type(key)); }
  /// Removes all keys. Queued launches run to their end.
  ///
  /// In a capture: allowed.
  void clear() noexcept { base_.clear(); }

  /// Returns the counts at some moment during the call. No driver call.
  [[nodiscard]] graph_cache_counts counts() const noexcept { return base_.counts(); }
  /// Returns the error of the last failed attempt to make an executable; empty if all succeeded.
  [[nodiscard]] std::optional<error> last_failure() const { return base_.last_failure(); }

 private:
  static_assert(std::is_nothrow_destructible_v<Key>);
  static constexpr detail::cache_key_type type = {
      [](const void* a, const void* b) -> bool {
        return Equal{}(*static_cast<const Key*>(a), *static_cast<const Key*>(b));
      },
      [](const void* key) -> void* { return new Key(*static_cast<const Key*>(key)); },
      [](void* copy) noexcept { delete static_cast<Key*>(copy); }};
  [[nodiscard]] static detail::cache_key erase_type(const Key& key) {
    return {Hash{}(key), &key, &type};
  }

  detail::graph_cache_base base_;
};

}  // namespace weir
