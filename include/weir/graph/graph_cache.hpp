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

/// The type-erased operations of a key's type. `copy` returns a copy on the heap, which `destroy`
/// deletes.
struct cache_key_type {
  bool (*equal)(const void* a, const void* b);
  void* (*copy)(const void* key);
  void (*destroy)(void* copy) noexcept;
};
/// A type-erased key: its hash, its address, and the operations of its type.
struct cache_key {
  std::size_t hash;
  const void* value;
  const cache_key_type* type;
};

/// A type-erased body: call(function, scope) calls it.
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
  replayed,  ///< not called: the existing executable was launched
  captured,  ///< called in a capture; the graph was instantiated and launched
  updated,   ///< called in a capture; the existing executable was updated and launched
  /// Called in a capture. The existing executable could not be updated, or another thread was
  /// launching it.
  /// A new executable replaced it and was launched.
  reinstantiated,
  /// Called outside a capture: its operations were queued in the stream directly.
  eager,
  recorded,  ///< called while the stream was capturing; the work became a part of that capture
};

/// Counts of each cache_use, and of other events. `eager` includes the uses whose capture or
/// instantiation failed first; `failed` counts these, too.
struct graph_cache_counts {
  unsigned long long replayed = 0;
  unsigned long long captured = 0;
  unsigned long long updated = 0;
  unsigned long long reinstantiated = 0;
  unsigned long long eager = 0;
  unsigned long long recorded = 0;
  unsigned long long failed = 0;   ///< failed attempts to make an executable
  unsigned long long evicted = 0;  ///< keys that were removed because the cache was full
  std::size_t size = 0;            ///< keys in the cache now; a key counts once for each context
};

/// Options of a graph_cache.
struct graph_cache_options {
  /// The largest number of keys in the cache; at least 1. A key counts once for each context in
  /// which it is used. If the cache is full, a new key replaces the least recently used one.
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

  /// Returns true if the body's work is recorded, by the cache or by a capture that was open
  /// before. Returns false if it is queued in the stream directly.
  [[nodiscard]] bool capturing() const noexcept { return uses_ == nullptr; }

  /// Keeps `owner` alive while the body's work may need it. If the work is recorded, `owner` is
  /// kept as by graph_ref::keep(). If the work is queued directly, `owner` is kept until all work
  /// that is in the stream at the end of the body is done.
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
  /// The graph that the cache is capturing. Null if the work is queued directly, or if another
  /// capture records it; keep() then queries the driver for the graph of that capture.
  graph_ref graph_;
  /// Keeps owners until the work that was queued directly is done. Null if the work is recorded.
  detail::keep_until_idle* uses_;
};

namespace detail {

/// The members of graph_cache that do not depend on the type of the keys.
class WEIR_EXPORT graph_cache_base {
 public:
  graph_cache_base(const graph_cache_options& options, call_site at);
  graph_cache_base(graph_cache_base&& other) noexcept
      : capture_{other.capture_},
        instantiate_{other.instantiate_},
        table_{std::exchange(other.table_, nullptr)} {}
  graph_cache_base& operator=(graph_cache_base&& other) noexcept;
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
  /// Returns the table. Throws `closed` if the cache was moved from.
  [[nodiscard]] cache_table& table(call_site at) const;

  cache_table* table_;  ///< null if the cache was moved from
};

}  // namespace detail

/// A cache of executable graphs, found by keys. A body is a callable that queues work. The first
/// use of a key captures the body into a graph and launches the graph. Later uses launch the graph
/// without calling the body.
///
///   weir::graph_cache<int> steps;
///   for (int size : sizes) steps.run(s, size, [&](weir::stream_ref in) { queue_step(in, size); });
///
/// A body must have one effect, whether it is recorded, replayed, or run directly. It queues all
/// its work in the stream that it receives, and in streams that fork from that stream and join it
/// again. It may be called twice in one use. Its host code runs when it is called, not when its
/// graph is launched.
/// A key has a separate executable in each context in which it is used.
/// Launches of one executable run one after the other, on any streams. A use that runs directly, or
/// that launches a new executable, may overlap with earlier uses on other streams. To prevent
/// overlap, order the streams. To allow overlap always, make the stream a part of the key.
///
/// Move-only. A moved-from cache is empty, and throws `closed` when it is used.
///
/// Thread safety: all members may be called from any thread; moving needs exclusive access. Bodies
/// and driver calls run without the cache's lock; Equal runs under it. While one thread
/// instantiates the executable of a key, other threads that use the key run their bodies directly.
template <class Key, class Hash = std::hash<Key>, class Equal = detail::key_equal>
class graph_cache {
 public:
  /// Creates an empty cache.
  ///
  /// Throws: `invalid_value` if the capacity is 0 or options exclude each other.
  explicit graph_cache(graph_cache_options options = {}, call_site at = call_site::current())
      : base_{options, at} {}
  graph_cache(graph_cache&& other) noexcept = default;
  /// Destroys the executables of this cache, and takes over those of `other`.
  graph_cache& operator=(graph_cache&& other) noexcept = default;
  /// Destroys the executables and never blocks. Queued launches run to their end.
  ~graph_cache() = default;

  /// Queues the work of body(scope), body(stream) or body() once, and returns how it was queued.
  /// Use it for bodies that do not change, or call invalidate() after a change.
  ///
  /// If the stream already captures, the body is called and its work becomes a part of that
  /// capture. There is one exception: a capture that was started directly through the driver, on a
  /// stream that weir owns. If the key has an executable, run() does not detect such a capture, and
  /// throws the driver's error of the launch.
  /// If the body cannot be captured or the graph cannot be instantiated, the body is called again,
  /// outside a capture. This happens if weir or the driver refuses an operation in a capture, if
  /// the capture is invalidated, or if the instantiation fails. last_failure() returns the error.
  /// After a failure, the next use of the key runs the body directly, and the use after that
  /// captures again. Each further failure doubles the number of uses that run directly before the
  /// next capture, up to 1024. A use captures at once if its `version` differs from the version
  /// that failed, or if invalidate() was called.
  /// The legacy default stream cannot capture. If the key has no executable, the body is then
  /// called outside a capture.
  ///
  /// Throws: what the body throws in the cache's capture, unless it is the refusal of an operation
  /// in a capture. Throws `stream_capture_unjoined`, naming the streams that the body did not join.
  /// After these errors and std::bad_alloc, nothing is queued or cached. Throws the error of the
  /// launch. If a body that runs directly throws, run() throws that exception, and the work that
  /// the body has queued stays queued.
  /// In a host function: throws `not_permitted`.
  /// Driver: cuGraphLaunch; without an executable as capture(), graph_ref::instantiate() and
  /// graph_exec::update().
  template <detail::cached_body Body>
  cache_use run(stream_ref stream, const Key& key, Body&& body,
                call_site at = call_site::current()) {
    return run(stream, key, 0, std::forward<Body>(body), at);
  }
  /// Like run() without a version, for bodies that change: `version` identifies the body. If it
  /// differs from the version from which the executable was captured, the body is captured again,
  /// and the executable is updated or replaced.
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

  /// States that the body of this key has changed. In every context, the next use of the key
  /// captures the body again. Does nothing if the cache lacks the key.
  void invalidate(const Key& key) { base_.invalidate(erase_type(key)); }
  /// Removes the key, in all contexts. Queued launches run to their end.
  ///
  /// In a capture: allowed.
  void erase(const Key& key) { base_.erase(erase_type(key)); }
  /// Removes all keys. Queued launches run to their end.
  ///
  /// In a capture: allowed.
  void clear() noexcept { base_.clear(); }

  /// Returns the counts, all of one moment during the call. No driver call.
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
