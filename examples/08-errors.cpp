// Lesson 8: what errors tell, and what is left when one is thrown.
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

  // One type for all of them. It has the driver's code, the call that failed, what it was called
  // on, the line of this program, and what to do. It is a std::system_error too.
  bool refused = false;
  try {
    weir::buffer<char> too_much{s, std::numeric_limits<std::size_t>::max() / 2};
  } catch (const weir::error& e) {
    refused = e.result() == weir::errc::out_of_memory || e.result() == weir::errc::invalid_value;
    std::printf("code %d from %s, called in line %u\n", e.code().value(), e.call(),
                e.where().line());
    std::printf("%s\n", e.what());
  }

  // A call that fails leaves everything as it was: the stream can be used.
  s.sync();

  // An object that was moved from or closed answers `closed`. It never becomes the default stream.
  weir::stream t = std::move(s);
  bool closed = false;
  try {
    s.sync();  // NOLINT(bugprone-use-after-move): that this is safe is what is shown
  } catch (const weir::error& e) {
    closed = e.result() == weir::errc::closed;
  }

  // close() reports what a destructor cannot throw. What fails in a destructor goes to a hook,
  // which by default writes a line to standard error; a service puts its own there.
  weir::set_unhandled_error_handler(count_surprise);
  t.close();
  t.close();  // nothing, the second time
  return refused && closed && t.closed() && surprises == 0 ? 0 : 1;
}
