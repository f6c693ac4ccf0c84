// SPDX-License-Identifier: Apache-2.0
// Lesson 4: host functions in the order of a stream.
#include <cstdio>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <weir/weir.hpp>

int main() {
  const weir::device gpu;
  const weir::stream s{gpu};
  weir::buffer<int> there{s, 100};
  weir::pinned_buffer<int> here{100, gpu};

  // The function runs on a thread of the driver when the copy before it is done, so it may read the
  // result. It must make no CUDA call and use no stream: weir refuses both with an exception, and
  // so avoids a deadlock.
  int sum = 0;
  weir::fill(s, there, 7);
  weir::copy(s, there, here);
  weir::launch_host(s, [&] { sum = std::accumulate(here.begin(), here.end(), 0); });
  s.sync();
  std::printf("the sum is %d\n", sum);

  // A function that owns an object. The function is destroyed once, after it has run.
  auto message = std::make_unique<std::string>("the work before this is done");
  weir::launch_host_once(s, [message = std::move(message)] { std::puts(message->c_str()); });

  // A callback also runs if the work before it failed, and receives the status.
  weir::errc status = weir::errc::unknown;
  weir::add_callback(s, [&](weir::errc result) { status = result; });
  s.sync();

  // The next sync of the stream throws the exception of a host function. Work that was queued
  // behind the function still runs.
  weir::launch_host(s, [] { throw std::runtime_error{"no more numbers"}; });
  try {
    s.sync();
  } catch (const std::runtime_error& thrown) {
    std::printf("a host function said: %s\n", thrown.what());
    return sum == 700 && status == weir::errc::success ? 0 : 1;
  }
  return 1;
}
