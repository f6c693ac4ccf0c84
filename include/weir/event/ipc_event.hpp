// SPDX-License-Identifier: Apache-2.0
// weir/event/ipc_event.hpp - events shared by several processes of one host.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/core/handle.hpp>
#include <weir/detail/export.hpp>
#include <weir/event/event.hpp>

#include <type_traits>

namespace weir {

class context_ref;
class device;

/// The handle of an event for other processes: 64 bytes that can be sent unchanged over a pipe, a
/// socket or a file. Valid while the process that created the event runs. Processes of the same
/// user on the same host can open it.
struct ipc_event_handle {
  unsigned char bytes[64];
};

static_assert(std::is_trivially_copyable_v<ipc_event_handle> && sizeof(ipc_event_handle) == 64);

/// An owned event that several processes share. One process creates it, the others open it by its
/// handle; each may record it, wait for it and query it. Derives from event. Streams record it and
/// wait for it: s.record(e), t.wait(e).
///
/// The event has one state for all processes: after one process has recorded it, waits in every
/// process wait for that record. Records complete in order: a stream that records the event while
/// an earlier record is pending waits for the earlier record. Shared events have no timing. An
/// opened event belongs to the context in which it was opened. If a process ends while its record
/// is pending, the driver decides what happens to the waiters; the embedded driver releases them.
///
/// Move-only. A moved-from or closed event throws `closed` when used.
///
/// In a capture: creating, opening and closing are allowed. The driver refuses to record the event
/// in a capture (`stream_capture_unsupported`). It also refuses a wait for the event in a capture,
/// and then invalidates the capture.
/// Thread safety: the operations of event_ref may be called from any thread. Moving and closing
/// need external synchronisation.
class WEIR_EXPORT ipc_event : public event {
 public:
  /// Creates an event on the primary context of a device. The event is not recorded yet, so done()
  /// returns true.
  ///
  /// Driver: cuEventCreate with CU_EVENT_INTERPROCESS.
  explicit ipc_event(weir::device gpu, event_options options = {},
                     call_site at = call_site::current());
  /// Creates an event on a context. The event is not recorded yet, so done() returns true.
  ///
  /// Driver: cuEventCreate with CU_EVENT_INTERPROCESS.
  explicit ipc_event(context_ref context, event_options options = {},
                     call_site at = call_site::current());

  /// Opens the event of another process on the primary context of a device. If that process has
  /// ended, the driver may still open it, as an event that was never recorded.
  ///
  /// Throws: `invalid_context` in the process that created the event, `map_failed` if there is no
  /// such event.
  /// Driver: cuIpcOpenEventHandle.
  [[nodiscard]] static ipc_event open(const ipc_event_handle& handle, weir::device gpu,
                                      call_site at = call_site::current());
  /// Opens the event of another process on a context. If that process has ended, the driver may
  /// still open it, as an event that was never recorded.
  ///
  /// Throws: `invalid_context` in the process that created the event, `map_failed` if there is no
  /// such event.
  /// Driver: cuIpcOpenEventHandle.
  [[nodiscard]] static ipc_event open(const ipc_event_handle& handle, context_ref context,
                                      call_site at = call_site::current());

  /// Returns the handle with which other processes open the event; every call returns equal bytes.
  ///
  /// Throws: `invalid_handle` for an event that this process opened: only the process that created
  /// the event can export it.
  /// Driver: cuIpcGetEventHandle.
  [[nodiscard]] ipc_event_handle handle(call_site at = call_site::current()) const;

  /// Returns true if this object opened the event, false if it created the event.
  [[nodiscard]] bool opened() const noexcept { return opened_; }

  /// Deleted, because weir cannot check that an existing event is shared between processes. Use the
  /// constructors or open().
  static ipc_event adopt(CUevent_st*, context_ref, event_options = {}, call_site = {}) = delete;

 private:
  ipc_event(event&& source, bool opened) noexcept
      : event{static_cast<event&&>(source)}, opened_{opened} {}

  bool opened_ = false;
};

}  // namespace weir
