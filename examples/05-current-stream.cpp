// SPDX-License-Identifier: Apache-2.0
// Lesson 5: the current stream of a thread, used by code that names no stream.
#include <cstdio>
#include <span>
#include <weir/weir.hpp>

namespace {

// Application code that would otherwise pass one stream through many calls. Library code should
// take a stream as a parameter.
void clear(std::span<int> numbers) { weir::fill(weir::current_stream(), numbers, 0); }

}  // namespace

int main() {
  const weir::device gpu;
  const weir::stream user_stream{gpu};
  weir::pinned_buffer<int> numbers{1000, gpu};
  numbers[999] = 5;

  // The current stream of a new thread is a default stream. A default stream belongs to the current
  // context, so code that queues work on it must make a context current. Other streams need no
  // current context.
  const weir::context_scope context{gpu};
  const weir::stream_ref before = weir::current_stream(gpu);
  std::printf("first: %s\n", weir::to_string(before).c_str());
  {
    // Makes another stream current for this block and then restores the previous one. Scopes nest.
    const weir::stream_scope scope{user_stream};
    if (weir::current_stream(gpu) != user_stream) return 1;
    clear({numbers.data(), numbers.size()});
  }
  if (weir::current_stream(gpu) != before) return 1;
  user_stream.sync();

  // set_current_stream() makes a stream current until the next set_current_stream(). Options of a
  // scope can order the two streams on entry and on exit.
  weir::set_current_stream(user_stream);
  const weir::stream_scope ordered{before, {.wait_on_entry = true, .wait_on_exit = true}};
  return numbers[999] == 0 ? 0 : 1;
}
