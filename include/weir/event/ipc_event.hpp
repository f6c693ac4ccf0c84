// weir/event/ipc_event.hpp - events that several processes of one host have.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/core/handle.hpp>
#include <weir/detail/export.hpp>
#include <weir/event/event.hpp>

#include <type_traits>

namespace weir {

class context_ref;
class device;

// The name of an event for other processes: 64 bytes to be sent as they are, over a pipe, a socket,
// a file. They are good while the process that made the event lives, and for processes of the same
// user on the same host.
struct ipc_event_handle {
  unsigned char bytes[64];
};

static_assert(std::is_trivially_copyable_v<ipc_event_handle> && sizeof(ipc_event_handle) == 64);

// An event of several processes: one makes it, others open it by its handle, and each may record
// it, wait for it and ask for it. What the last record of any of them comes after is what all wait
// for from then on. It has no timing: there is no such thing as a timed event of several processes,
// so it is a type of its own. It converts to event_ref, with which streams record it and wait for
// it: s.record(e), t.wait(e). Records complete in the order in which they are made: a stream that
// records it while an earlier record is pending waits for that. It may be recorded as often as one
// likes. An opened one has the context that it was opened in. When a process ends with a record of
// its own pending, it depends on the driver what becomes of those who wait: the embedded one lets
// them go on. Move-only; moved-from and closed ones answer `closed` when used. Thread safety: the
// reference's operations from any thread; moving and closing as any object. In a capture: the
// driver refuses to record it (stream_capture_unsupported) or wait for it, which ends the capture.
// Made, opened and closed it may be.
class WEIR_EXPORT ipc_event {
 public:
  // Makes an event that was never recorded, and so is done. cuEventCreate with
  // CU_EVENT_INTERPROCESS.
  explicit ipc_event(weir::device gpu, event_options options = {},
                     call_site at = call_site::current());
  explicit ipc_event(context_ref context, event_options options = {},
                     call_site at = call_site::current());

  // Opens the event of another process. In the process that made it: invalid_context, for it has
  // the event already. map_failed where there is none of that name. Where its process has ended the
  // driver may open it all the same, as one that was never recorded. cuIpcOpenEventHandle.
  [[nodiscard]] static ipc_event open(const ipc_event_handle& handle, weir::device gpu,
                                      call_site at = call_site::current());
  [[nodiscard]] static ipc_event open(const ipc_event_handle& handle, context_ref context,
                                      call_site at = call_site::current());

  // What other processes open it by; the same each time. Of an event that was opened here:
  // invalid_handle, for only its maker gives it away. cuIpcGetEventHandle.
  [[nodiscard]] ipc_event_handle handle(call_site at = call_site::current()) const;

  // Was it opened here, not made?
  [[nodiscard]] bool opened() const noexcept { return opened_; }

  // This process's part of it ends; the others keep theirs. Never blocks. cuEventDestroy.
  void close(call_site at = call_site::current()) { event_.close(at); }
  [[nodiscard]] bool closed() const noexcept { return event_.closed(); }

  [[nodiscard]] bool done(call_site at = call_site::current()) const { return event_.done(at); }
  [[nodiscard]] errc try_done() const noexcept { return event_.try_done(); }
  void sync(call_site at = call_site::current()) const { event_.sync(at); }
  template <detail::duration_like Duration>
  [[nodiscard]] bool sync_for(const Duration& timeout, call_site at = call_site::current()) const {
    return event_.sync_for(timeout, at);
  }
  template <detail::time_point_like TimePoint>
  [[nodiscard]] bool sync_until(const TimePoint& deadline,
                                call_site at = call_site::current()) const {
    return event_.sync_until(deadline, at);
  }

  [[nodiscard]] weir::device device(call_site at = call_site::current()) const;
  [[nodiscard]] context_ref context(call_site at = call_site::current()) const;
  [[nodiscard]] bool blocking_sync() const noexcept { return event_.blocking_sync(); }

  [[nodiscard]] CUevent_st* get() const noexcept { return event_.get(); }
  operator CUevent_st*() const noexcept { return event_.get(); }
  operator event_ref() const noexcept { return event_.ref(); }
  [[nodiscard]] event_ref ref() const noexcept { return event_.ref(); }
  friend bool operator==(const ipc_event& a, const ipc_event& b) noexcept {
    return a.event_ == b.event_;
  }

 private:
  ipc_event(event&& event, bool opened) noexcept
      : event_{static_cast<weir::event&&>(event)}, opened_{opened} {}

  event event_;
  bool opened_ = false;
};

}  // namespace weir
