// SPDX-License-Identifier: Apache-2.0
// weir/completion/reactor.hpp - the reactor, which detects that work of a device has ended, and its
// use from the program's own loop.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/detail/export.hpp>
#include <weir/device/device.hpp>

#include <cstddef>

namespace weir {

namespace detail {
class reactor;
}

/// Polls the reactor of a device from a loop of the program, in place of the reactor's own thread.
///
/// Each device has one reactor. It resumes coroutines that await completions of the device's
/// streams. The reactor polls only the oldest awaited completion of each stream. On the embedded
/// driver, the driver notifies the reactor instead. The reactor's thread starts with the first wait
/// that needs it. The thread spins while recent waits have been short; otherwise it sleeps between
/// polls. While nothing is awaited, the thread sleeps until the next wait. To resume coroutines in
/// a loop of the program, poll instead:
///
///   weir::completion_poller poller{gpu};  // the reactor's thread stops polling
///   while (running) {
///     poller.poll();  // resumes ready coroutines on this thread
///     ...
///   }
///
/// A thread that creates a poller, or calls poll(), becomes a polling thread of the device: a
/// thread on which the program resumes coroutines. It stays one until the device has no poller any
/// more. It may stay one for longer if another poller is created at that moment, or while other
/// devices have pollers. A polling thread that blocks in sync_wait() continues to resume coroutines
/// of the devices that it polls. If a polling thread blocks in another way and no other thread
/// polls, awaiting coroutines are delayed. A thread may poll several devices. A resumed coroutine
/// may create, use and destroy a poller.
///
/// In a capture: allowed; does not affect captures.
/// Thread safety: poll() may be called from any thread, also concurrently. A poller may be
/// destroyed on any thread.
class WEIR_EXPORT completion_poller {
 public:
  /// Begins polling: the reactor's thread stops, and the program must call poll() often. Several
  /// pollers of one device may exist.
  ///
  /// Throws: `invalid_device` if there is no such device.
  /// In a host function: throws `not_permitted`.
  /// Driver: cuDeviceGetCount.
  explicit completion_poller(device gpu, call_site at = call_site::current());
  completion_poller(const completion_poller&) = delete;
  completion_poller& operator=(const completion_poller&) = delete;
  /// Ends polling. When the last poller of the device is destroyed, the reactor's thread resumes
  /// the coroutines that still await completions.
  ~completion_poller();

  /// Polls each awaited stream once or twice, and resumes on this thread the coroutines that are
  /// ready. Returns how many it resumed. Does not wait for work. Continues while the resumed
  /// coroutines make more coroutines ready. Throws no error of its own.
  ///
  /// In a host function: does nothing and returns 0, as in a child process after fork.
  /// Driver: cuEventQuery.
  std::size_t poll();

 private:
  detail::reactor* reactor_;  ///< the reactor of the device; lives until the process ends
};

/// Polls once, like completion_poller::poll(), while the reactor's thread continues to poll. Use it
/// in loops with spare time. Returns how many coroutines it resumed.
///
/// Throws: `invalid_device` if there is no such device.
/// In a host function: does nothing and returns 0.
/// Driver: cuDeviceGetCount, cuEventQuery.
WEIR_EXPORT std::size_t poll_completions(device gpu, call_site at = call_site::current());

/// While an object of this class exists, weir assumes that other code (<<<>>>, other libraries)
/// launches work all the time directly through the driver.
///
/// A reactor cannot detect such launches, and each poll delays a launch by about 0.3 us. While an
/// object exists, a reactor therefore polls at intervals of at least 24 us, or 64 us if several
/// streams are awaited. During a long wait the interval grows to half of the time waited so far, up
/// to 48 us for one stream and 250 us for many. Completions are detected later by up to one
/// interval. While the program launches through weir, a reactor detects the launches and polls at
/// these intervals without an object. The object does not change how often wait() and sync_wait()
/// poll on a thread that spins. Any number of objects may exist. No driver call.
///
/// In a capture: allowed.
/// In a host function: allowed.
/// Thread safety: may be created and destroyed on any thread.
class WEIR_EXPORT expect_external_launches {
 public:
  [[nodiscard]] expect_external_launches() noexcept;
  expect_external_launches(const expect_external_launches&) = delete;
  expect_external_launches& operator=(const expect_external_launches&) = delete;
  ~expect_external_launches();
};

}  // namespace weir
