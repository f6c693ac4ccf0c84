// weir/completion/reactor.hpp - who finds out that work of a device has ended.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/detail/export.hpp>
#include <weir/device/device.hpp>

#include <cstddef>

namespace weir {

namespace detail {
class reactor;
}

// What resumes those who await completions of a device's streams. It asks the driver about the
// oldest awaited point of each stream, and nothing else; on the embedded driver the engine tells
// it. Each device has one. Its thread begins with the first wait that needs it, spins for as long
// as waits have been short lately, then sleeps between its questions, and without anything awaited
// until there is. A program whose own loop is to resume coroutines drives it instead:
//
//   weir::completion_poller drive{gpu};   // the reactor's thread stands back
//   while (running) {
//     poller.poll();                   // resumes what is due, here
//     ...
//   }
//
// A thread that has made one, or polls one, is taken to be where the program resumes coroutines,
// until there is no drive of that device any more; if another one begins in that moment, or while
// other devices are driven, it may be for as long as that lasts. Where such a thread blocks in
// sync_wait() it goes on resuming what is due on the devices that it drives. It may drive several
// devices. One that blocks otherwise, and nobody else polls, holds up who waits.
//
// Thread safety: poll() from any thread, and from several at once; a drive may end on another
// thread than it was made on. In a continuation: allowed. In captures: allowed, and harmless to
// them.
class WEIR_EXPORT completion_poller {
 public:
  // From now on somebody polls, often. Several may be there at a time. Throws invalid_device where
  // there is no such device. In a host function: refused (not_permitted). cuDeviceGetCount.
  explicit completion_poller(device gpu, call_site at = call_site::current());
  completion_poller(const completion_poller&) = delete;
  completion_poller& operator=(const completion_poller&) = delete;
  // The reactor's thread takes over what is still awaited, once the last drive of the device is
  // gone.
  ~completion_poller();

  // Asks about each stream that is awaited in, once or twice, and resumes, on this thread, whoever
  // waited for what is done. How many were told? Waits for no work, and goes on while what it
  // resumes makes more due. Throws nothing of its own. In a host function: nobody, as the driver
  // must not be asked there. In a forked child: nobody. cuEventQuery.
  std::size_t poll();

 private:
  detail::reactor* reactor_;
};

// Once, without standing in for the thread: for loops that have time to spare. Throws as the
// drive's constructor does, but in a host function, where it tells nobody. cuDeviceGetCount,
// cuEventQuery.
WEIR_EXPORT std::size_t poll_completions(device gpu, call_site at = call_site::current());

// While one lives, threads of the program are taken to call the driver all the time directly
// through the driver: by <<<>>>, by other libraries. No reactor sees such calls, and each of its
// questions costs them some 0.3 us. It asks once in 24 us at most then, and once in 64 where
// several streams are awaited, or when half as much time has passed again, up to 250 us where many
// are, as it does by itself beside calls through weir; ends of work are noticed by so much later.
// wait() and sync_wait() of a thread that spins ask as before.
//
// Any number may live at a time. Thread safety: from any thread. In captures and host functions:
// allowed. No driver call.
class WEIR_EXPORT expect_external_launches {
 public:
  [[nodiscard]] expect_external_launches() noexcept;
  expect_external_launches(const expect_external_launches&) = delete;
  expect_external_launches& operator=(const expect_external_launches&) = delete;
  ~expect_external_launches();
};

}  // namespace weir
