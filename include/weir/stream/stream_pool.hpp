// weir/stream/stream_pool.hpp - streams that are lent and come back, instead of being made and
// destroyed.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/detail/duration.hpp>
#include <weir/detail/export.hpp>
#include <weir/device/device.hpp>
#include <weir/stream/stream.hpp>
#include <weir/stream/stream_attributes.hpp>

#include <initializer_list>
#include <optional>
#include <string_view>

namespace weir {
namespace detail {
class stream_pool_state;
struct stream_pool_slot;
}  // namespace detail

// What the streams of a pool are for. Streams of different roles are never mixed.
struct stream_role {
  std::string_view name = {};  // copied
  stream_options streams = {};
  unsigned limit = 16;            // so many streams at most, 1 to 1024
  stream_settings settings = {};  // attributes that each of them has from the beginning
};

// A stream that is lent to one holder at a time. Its destruction gives the stream back, with
// whatever work is still queued; the next holder's work comes behind that. It may outlive its pool:
// the stream is destroyed when it comes back. Move-only; moved-from and closed ones answer `closed`
// when used. It converts to the stream's reference. Thread safety: the stream's operations from any
// thread; moving and closing as any object.
class WEIR_EXPORT stream_lease {
 public:
  stream_lease(stream_lease&& other) noexcept
      : ref_{other.ref_}, state_{other.state_}, slot_{other.slot_} {
    other.reset();
  }
  stream_lease& operator=(stream_lease&& other) noexcept;
  // Makes no driver call unless the pool is gone, so it may end anywhere: in a capture, in a host
  // function.
  ~stream_lease() { close(); }

  // Gives it back now; does nothing a second time.
  void close() noexcept;
  [[nodiscard]] bool closed() const noexcept { return state_ == nullptr; }

  [[nodiscard]] stream_ref ref() const noexcept { return ref_; }
  [[nodiscard]] CUstream_st* get() const noexcept { return ref_.get(); }
  const stream_ref* operator->() const noexcept { return &ref_; }
  operator stream_ref() const noexcept { return ref_; }
  operator CUstream_st*() const noexcept { return ref_.get(); }
  template <foreign_stream R>
  operator R() const {
    return R{ref_.get()};
  }

 private:
  friend class stream_pool;
  stream_lease(detail::stream_pool_state& state, detail::stream_pool_slot& slot) noexcept;
  void reset() noexcept {
    ref_ = stream_ref{detail::closed_handle<CUstream_st>()};
    state_ = nullptr;
    slot_ = nullptr;
  }

  stream_ref ref_;
  detail::stream_pool_state* state_;
  detail::stream_pool_slot* slot_;
};

// Streams of one device, made as they are needed and kept.
//
//   weir::stream_pool pool{gpu, {{.name = "copies", .streams = {.priority = -1}}, {.name = "work",
//   .limit = 4}}}; weir::stream_lease s = pool.acquire("work");
//
// A lease is for work that wants a stream of its own; of those that are not lent the one that came
// back longest ago is lent first if its work is done; if not, a new stream is made while the limit
// allows it, and else that one is lent with its work before it. next() is for work that only wants
// to be spread over streams. A stream that came back while it captures is not lent until its
// capture has ended. Thread safety: any operation from any thread, without a lock. In a host
// function: refused. In a capture: allowed.
class WEIR_EXPORT stream_pool {
 public:
  // On the primary context of the device. The first stream of each role is made here, so that
  // options that the device does not have are found out. No role, a limit of 0 or above 1024, and
  // two roles of one name are refused (invalid_value). Fails whole. cuStreamCreateWithPriority,
  // cuStreamSetAttribute.
  explicit stream_pool(weir::device gpu, stream_role only = {},
                       call_site at = call_site::current());
  stream_pool(weir::device gpu, std::initializer_list<stream_role> roles,
              call_site at = call_site::current());
  stream_pool(stream_pool&& other) noexcept : state_{other.state_} { other.state_ = nullptr; }
  stream_pool& operator=(stream_pool&& other) noexcept;
  // Destroys the streams that are not lent; the others follow when they come back. Work that is
  // queued still runs.
  ~stream_pool() { close(); }

  // The same now. What fails goes to set_unhandled_error_handler, as with any stream. Does nothing
  // a second time.
  void close() noexcept;
  [[nodiscard]] bool closed() const noexcept { return state_ == nullptr; }

  // For all of the following: an empty name is the first role, and one that the pool does not have
  // is refused (invalid_value). A context that is lost is reported as any call reports it, and the
  // pool stays as it was.

  // Lends a stream. If all are lent, or left in a capture: errc::exhausted. cuStreamIsCapturing,
  // cuStreamQuery.
  [[nodiscard]] stream_lease acquire(std::string_view role = {},
                                     call_site at = call_site::current()) const;
  // The same, with nothing for an answer.
  [[nodiscard]] std::optional<stream_lease> try_acquire(std::string_view role = {},
                                                        call_site at = call_site::current()) const;
  // The same after waiting so long at most. The thread looks at once, later sleeps in between.
  template <detail::duration_like Duration>
  [[nodiscard]] std::optional<stream_lease> acquire_for(const Duration& timeout,
                                                        std::string_view role = {},
                                                        call_site at = call_site::current()) const {
    return acquire_for_nanoseconds(detail::nanoseconds(timeout), role, at);
  }

  // The streams of a role in turn, without a lease: valid while the pool is, and given to others as
  // well, also while it is lent. A role for which there are both leases and this has no streams of
  // one holder. Up to the limit each call makes a stream. If all are left in a capture:
  // errc::exhausted. cuStreamIsCapturing.
  [[nodiscard]] stream_ref next(std::string_view role = {},
                                call_site at = call_site::current()) const;

  struct counts {
    unsigned limit = 0;
    unsigned created = 0;
    unsigned leased = 0;
  };
  // At some moment during the call. No driver call.
  [[nodiscard]] counts count(std::string_view role = {}, call_site at = call_site::current()) const;
  [[nodiscard]] weir::device device(call_site at = call_site::current()) const;

 private:
  [[nodiscard]] detail::stream_pool_state& open(const char* call, call_site at) const;
  [[nodiscard]] std::optional<stream_lease> acquire_for_nanoseconds(long long timeout,
                                                                    std::string_view role,
                                                                    call_site at) const;

  detail::stream_pool_state* state_;
};

}  // namespace weir
