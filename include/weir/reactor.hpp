// weir/reactor.hpp - who finds out that work of a device has ended.
#pragma once

#include <weir/call_site.hpp>
#include <weir/device.hpp>
#include <weir/export.hpp>

#include <cstddef>

namespace weir {

namespace detail {
class reactor;
}

// What resumes those who await completions of a device's streams. It asks the driver about the oldest awaited point of each
// stream, and nothing else; on the embedded driver the engine tells it. Each device has one. Its thread begins with the
// first wait that needs it, spins for as long as waits have been short lately, then sleeps between its questions, and
// without anything awaited until there is. A program whose own loop is to resume coroutines drives it instead:
//
//   weir::reactor_drive drive{gpu};   // the reactor's thread stands back
//   while (running) {
//     drive.poll();                   // resumes what is due, here
//     ...
//   }
//
// Thread safety: poll() from any thread, and from several at once. In a continuation: allowed.
class WEIR_EXPORT reactor_drive {
 public:
  // From now on somebody polls, often. Several may be there at a time.
  explicit reactor_drive(device gpu, call_site at = call_site::current());
  reactor_drive(const reactor_drive&) = delete;
  reactor_drive& operator=(const reactor_drive&) = delete;
  // The thread takes over what is still awaited.
  ~reactor_drive();

  // Asks about each stream that is awaited in, once or twice, and resumes, on this thread, whoever waited for what is done. How many
  // were told? Never blocks. cuEventQuery.
  std::size_t poll();

 private:
  detail::reactor* driven_;
};

// Once, without standing in for the thread: for loops that have time to spare.
WEIR_EXPORT std::size_t poll_completions(device gpu, call_site at = call_site::current());

}  // namespace weir
