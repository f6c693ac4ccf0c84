// SPDX-License-Identifier: Apache-2.0
// Lesson 8: the contents of an error, and the state after one was thrown.
#include <cstdio>
#include <exception>
#include <limits>
#include <utility>
#include <weir/weir.hpp>

namespace {

int surprises = 0;

void count_surprise(std::exception_ptr) noexcept { ++surprises; }

}  // namespace

int main() {
  const weir::device gpu;
  weir::stream s{gpu};

  // All errors have one type. It contains the driver's code, the failed call, the object, the line
  // of this program, and a hint. It is also a std::system_error.
  bool refused = false;
  try {
    weir::buffer<char> too_much{s, std::numeric_limits<std::size_t>::max() / 2};
  } catch (const weir::error& e) {
    refused = e.result() == weir::errc::out_of_memory || e.result() == weir::errc::invalid_value;
    std::printf("code %d from %s, called in line %u\n", e.code().value(), e.call(),
                e.where().line());
    std::printf("%s\n", e.what());
  }

  // A failed call changes nothing: the stream can still be used.
  s.sync();

  // An object that was moved from or closed reports `closed`. It never becomes the default stream.
  weir::stream t = std::move(s);
  bool closed = false;
  try {
    s.sync();  // NOLINT(bugprone-use-after-move): that this is safe is what is shown
  } catch (const weir::error& e) {
    closed = e.result() == weir::errc::closed;
  }

  // close() throws errors that a destructor cannot throw. An error in a destructor goes to a
  // handler, which by default prints a line to standard error. A service installs its own handler.
  weir::set_unhandled_error_handler(count_surprise);
  t.close();
  t.close();  // a second close does nothing
  return refused && closed && t.closed() && surprises == 0 ? 0 : 1;
}
