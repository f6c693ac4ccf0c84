// weir/stream/stream_fork.hpp - one stream's work divided over several, and brought together again.
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

// Streams beside an origin: each comes after what the origin was given before, and what the origin
// is given after the join comes after all that they were given.
//
//   weir::stream_fork f{s, 3};        // f[0] is s
//   for (std::size_t i = 0; i < f.size(); ++i) weir::fill(f[i], part[i], 0.0f);
//   f.join();
//
// While the origin captures, the others join its capture, and the join is what their capture ends
// well with; so the origin may be a capture_scope. Outside of a capture it is waits of the device;
// none of it blocks the host. The end of the object joins what is not joined, also if an exception
// passes: no stream of it is left behind in a capture. It stays where it is. (cuda.core: split()
// and join().) Thread safety: as any object; the streams as any streams. In a host function:
// refused (not_permitted).
class WEIR_EXPORT stream_fork {
 public:
  // `count` streams, the origin among them. The others are made for it, on the context of the
  // origin and with its priority, and given up at the join: for captures, where that costs nothing
  // at the launches. Refused, with nothing queued: fewer than 2 (invalid_value), an origin whose
  // capture is broken (stream_capture_invalidated). If it fails on the way, none of its streams is
  // in the origin's capture with work. cuStreamCreateWithPriority, cuStreamGetCaptureInfo,
  // cuEventRecord, cuStreamWaitEvent.
  stream_fork(stream_ref origin, unsigned count, call_site at = call_site::current());

  // The others are lent by the pool, and come back at the join. In a capture a stream that came
  // back is lent again only after the capture: the role's limit has to be enough for all forks of
  // one. Too few: exhausted.
  stream_fork(stream_ref origin, unsigned count, const stream_pool& pool,
              std::string_view role = {}, call_site at = call_site::current());

  // The others are given: {t, u}. They stay who they are, and have to outlive this. Refused
  // (invalid_value): none, the origin, one that is named twice; and one that takes part in another
  // capture (illegal_state), which lives on.
  stream_fork(stream_ref origin, std::span<const stream_ref> others,
              call_site at = call_site::current());
  stream_fork(stream_ref origin, std::initializer_list<stream_ref> others,
              call_site at = call_site::current())
      : stream_fork{origin, std::span{others.begin(), others.size()}, at} {}

  stream_fork(const stream_fork&) = delete;
  stream_fork& operator=(const stream_fork&) = delete;
  // Joins, if join() has not. What fails then goes to set_unhandled_error_handler, but for a broken
  // capture, of which the end of the capture tells.
  ~stream_fork();

  // The origin waits for all others, which are given up: from then on there is the origin only.
  // Does nothing a second time. If the wait for one of them fails, those for the others are still
  // made, and that one is left to the next join(), or to the end of this. Where the two are not in
  // the same capture by now, as one began or ended since the fork: refused (illegal_state), as the
  // driver would drop it. cuStreamGetCaptureInfo, cuEventRecord, cuStreamWaitEvent.
  void join(call_site at = call_site::current());
  [[nodiscard]] bool joined() const noexcept { return streams_.size() == 1; }

  [[nodiscard]] stream_ref origin() const noexcept { return streams_.front(); }
  // The origin is the first. One that there is not, or no more, is refused (invalid_value).
  [[nodiscard]] stream_ref at(std::size_t number, call_site where = call_site::current()) const;
  [[nodiscard]] stream_ref operator[](std::size_t number) const { return at(number); }
  [[nodiscard]] std::size_t size() const noexcept { return streams_.size(); }
  [[nodiscard]] const stream_ref* begin() const noexcept { return streams_.data(); }
  [[nodiscard]] const stream_ref* end() const noexcept { return streams_.data() + streams_.size(); }

 private:
  void fork(call_site at);

  std::vector<stream> own_streams_;
  std::vector<stream_lease> leases_;
  std::vector<stream_ref> streams_;
};

}  // namespace weir
