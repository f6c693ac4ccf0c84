// weir/graph/graph_cache.hpp - work that is captured at its first use, and replayed as a graph from
// then on.
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

// A key of any type: its hash, where it is, and what can be done with it.
struct cache_key_type {
  bool (*equal)(const void* a, const void* b);
  void* (*copy)(const void* key);
  void (*destroy)(void* copy) noexcept;
};
struct cache_key {
  std::size_t hash;
  const void* value;
  const cache_key_type* type;
};

// A body of any type.
struct cache_body {
  void* function;
  void (*call)(void* function, cache_scope& scope);
};

struct key_equal {
  template <class Key>
  [[nodiscard]] constexpr bool operator()(const Key& a, const Key& b) const {
    return a == b;
  }
};

}  // namespace detail

// What has become of a body that was given to graph_cache::run().
enum class cache_use : unsigned char {
  replayed,        // it was not called: its graph was launched
  captured,        // called in a capture; the graph was made executable and launched
  updated,         // the same, and what there was of the key was updated to it
  reinstantiated,  // the same, but what there was could not be updated, and was made anew
  eager,           // called with the stream as it is: its operations are queued like any others
  recorded,        // called in a capture that was open already, and is a part of that now
};

// How often each of these came to be, and what else happened. Eager is also what follows a capture
// that broke.
struct graph_cache_counts {
  unsigned long long replayed = 0;
  unsigned long long captured = 0;
  unsigned long long updated = 0;
  unsigned long long reinstantiated = 0;
  unsigned long long eager = 0;
  unsigned long long recorded = 0;
  unsigned long long failed = 0;   // attempts that gave no executable
  unsigned long long evicted = 0;  // keys that had to make room
  std::size_t size = 0;            // keys that are there now, each once a context
};

struct graph_cache_options {
  // So many keys at most, each once a context; the one that was used longest ago makes room. At
  // least 1.
  std::size_t capacity = 128;
  capture_options capture = {};
  // Of all executables. upload_in is not looked at: an executable is launched as soon as it is
  // made.
  instantiate_options instantiate = {};
};

// What the body is given: the stream to queue its work in. It stays where it is: on the thread of
// the body, and no longer than that.
class WEIR_EXPORT cache_scope {
 public:
  cache_scope(const cache_scope&) = delete;
  cache_scope& operator=(const cache_scope&) = delete;

  [[nodiscard]] stream_ref stream() const noexcept { return stream_; }
  operator stream_ref() const noexcept { return stream_; }

  // Is the work recorded, by the cache or by an open capture? Else it is queued as it is.
  [[nodiscard]] bool capturing() const noexcept { return uses_ == nullptr; }

  // Keeps the owner for as long as the work may need it. Of recorded work as graph_ref::keep()
  // does; of work that is queued as it is until what the stream has at the end of the body is done.
  // Then its destructor runs on a thread where CUDA calls are allowed. Give it a copy (of a
  // shared_ptr, say): the body may be called again. If it cannot be kept it is destroyed in the
  // call.
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
  graph_ref graph_;  // in the making; null if uses_ is not, or if it has to be asked for
  detail::keep_until_idle* uses_;  // null if the work is recorded
};

namespace detail {

// All of a cache that does not depend on the type of its keys.
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

// Executables of bodies of work, found by keys. The first use of a key captures its body and
// launches what it recorded; later ones launch that again, without calling the body.
//
//   weir::graph_cache<int> steps;
//   for (int size : sizes) steps.run(s, size, [&](weir::stream_ref in) { queue_step(in, size); });
//
// A body has the same effect however it is run: recorded, replayed, or with the stream as it is. So
// it queues all of its work in the stream that it is given, and in streams that fork from it and
// join it again; it may be called twice in one use; and what it does on the host it does when it is
// called, not when its graph is launched. A key belongs to a context: in streams of another context
// it has another executable. Launches of one executable run one after the other, in whatever
// streams; uses that run as they are, or whose executable was made anew, may overlap with earlier
// ones in other streams. Where no two may, order the streams; where they should, make the stream a
// part of the key. Thread safety: any operation from any thread. Neither bodies nor driver calls
// run under the cache's lock; Equal does. While one thread makes the executable of a key, others
// that use it run their bodies with their streams as they are.
template <class Key, class Hash = std::hash<Key>, class Equal = detail::key_equal>
class graph_cache {
 public:
  // No capacity, and options that exclude each other, are refused (invalid_value).
  explicit graph_cache(graph_cache_options options = {}, call_site at = call_site::current())
      : base_{options, at} {}
  graph_cache(const graph_cache&) = delete;
  graph_cache& operator=(const graph_cache&) = delete;
  // Destroys the executables; launches that are queued run to their end. Never blocks.
  ~graph_cache() = default;

  // Queues the work of body(scope), body(stream) or body(), once, and says how it came about.
  // `version` says which body it is: where it is not the one that the executable was made of, the
  // body is captured again, and the executable is updated to it, or made anew. The first form is
  // for bodies that do not change, and those that invalidate() is called for. In a stream that
  // captures already the body is called, and its work becomes a part of that capture. (Of one that
  // was started directly through the driver, in a stream that weir owns, a replay does not know:
  // there the driver's own answer stands.) If no executable can be had the body is called again
  // with the stream as it is: where weir or the driver refuses in a capture what it does, where the
  // capture breaks, or cannot be made executable. last_failure() tells why. It is tried again with
  // the second use after that, then with the third, the fifth, the ninth, ..., with every 1025th at
  // last; at once where the version is another one, or after invalidate(). The legacy stream cannot
  // capture: there a body whose key has no executable is called with the stream as it is. Throws,
  // with nothing queued and nothing cached, what the body throws in a capture, unless that is a
  // refusal as above; which streams it did not join (stream_capture_unjoined); no memory. Throws
  // what the launch fails with. What a body throws that runs with the stream as it is leaves queued
  // what it has queued. In a host function: refused (not_permitted). cuGraphLaunch; where there is
  // no executable as capture(), graph_ref::instantiate() and graph_exec::update().
  template <detail::cached_body Body>
  cache_use run(stream_ref stream, const Key& key, Body&& body,
                call_site at = call_site::current()) {
    return run(stream, key, 0, std::forward<Body>(body), at);
  }
  template <detail::cached_body Body>
  cache_use run(stream_ref stream, const Key& key, unsigned long long version, Body&& body,
                call_site at = call_site::current()) {
    using function = std::remove_reference_t<Body>;
    const auto call = [](void* what, cache_scope& scope) {
      if constexpr (std::is_invocable_v<function&, cache_scope&>) {
        static_cast<void>((*static_cast<function*>(what))(scope));
      } else {
        static_cast<void>(scope);
        static_cast<void>((*static_cast<function*>(what))());
      }
    };
    return base_.run(stream, erase_type(key), version,
                     {const_cast<void*>(static_cast<const void*>(&body)), call}, at);
  }

  // The body of this key has changed: its next use captures it again, in every context. Nothing if
  // it is not there.
  void invalidate(const Key& key) { base_.invalidate(erase_type(key)); }
  // Takes the key, or all of them, out. Launches that are queued run to their end. In a capture:
  // allowed.
  void erase(const Key& key) { base_.erase(erase_type(key)); }
  void clear() noexcept { base_.clear(); }

  // At some moment during the call. No driver call.
  [[nodiscard]] graph_cache_counts counts() const noexcept { return base_.counts(); }
  // Why the last attempt that gave no executable did not; none if there was none.
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
