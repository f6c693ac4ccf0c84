// SPDX-License-Identifier: Apache-2.0
// weir/completion/reactor.hpp - the reactor, which notices that work of a device has ended, and
// polling it from the program's own loop.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/detail/export.hpp>
#include <weir/device/device.hpp>

#include <cstddef>

namespace weir {

namespace detail {
class reactor;
}

/// Drives the reactor of a device from a loop of the program, in place of the reactor's own thread.
///
/// Each device has one reactor. It resumes coroutines that await completions of the device's
/// streams. It polls only the oldest awaited point of each stream; on the embedded driver the
/// engine notifies it. Its thread starts with the first wait that needs it. It spins while recent
/// waits have been short, then sleeps between polls. While nothing is awaited it sleeps until the
/// next wait. To resume coroutines in a loop of the program, poll instead:
///
///   weir::completion_poller poller{gpu};  // the reactor's thread stops polling
///   while (running) {
///     poller.poll();  // resumes ready coroutines on this thread
///     ...
///   }
///
/// A thread that created a poller, or polls one, counts as a thread on which the program resumes
/// coroutines, until the device has no poller any more. It may count as one for longer if another
/// poller begins at that moment, or while other devices have pollers. If such a thread blocks in
/// sync_wait(), it continues to resume coroutines of the devices that it polls. If it blocks in
/// another way and no other thread polls, awaiting coroutines are delayed. A thread may poll
/// several devices. A continuation may make, use and destroy a poller.
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
  /// Ends polling. With the last poller of the device, the reactor's thread takes over what is
  /// still awaited.
  ~completion_poller();

  /// Polls each awaited stream once or twice, and resumes on this thread the coroutines that are
  /// ready. Returns how many it resumed. Waits for no work, and continues while the resumed code
  /// makes more coroutines ready. Throws no error of its own.
  ///
  /// In a host function: does nothing and returns 0, as in a child process after fork.
  /// Driver: cuEventQuery.
  std::size_t poll();

 private:
  detail::reactor* reactor_;
};

/// Polls once, like completion_poller::poll(), without stopping the reactor's thread. For loops
/// with spare time. Returns how many coroutines it resumed.
///
/// Throws: `invalid_device` if there is no such device.
/// In a host function: does nothing and returns 0.
/// Driver: cuDeviceGetCount, cuEventQuery.
WEIR_EXPORT std::size_t poll_completions(device gpu, call_site at = call_site::current());

/// While an object of this class exists, weir assumes that other code (<<<>>>, other libraries)
/// launches work all the time directly through the driver.
///
/// A reactor cannot detect such launches, and each poll delays them by about 0.3 us. It therefore
/// polls at most every 24 us, or every 64 us if several streams are awaited. Longer waits are
/// polled after half of the elapsed time has passed again, up to 250 us if many streams are
/// awaited. Completions are noticed later by up to these delays. Beside launches through weir a
/// reactor does this by itself. wait() and sync_wait() on a spinning thread poll as before.
/// Any number of objects may exist. No driver call.
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
