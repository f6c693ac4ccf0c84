// Lesson 5: the stream that code of this thread uses where none is named.
#include <cstdio>
#include <span>
#include <weir/weir.hpp>

namespace {

// Application code that would otherwise hand one stream through many calls. Libraries take a
// stream.
void clear(std::span<int> numbers) { weir::fill(weir::current_stream(), numbers, 0); }

}  // namespace

int main() {
  const weir::device gpu;
  const weir::stream user_stream{gpu};
  weir::pinned_buffer<int> numbers{1000, gpu};
  numbers[999] = 5;

  // Each thread begins with a default stream as its current one. That is a stream of whichever
  // context is current, so code that queues work on it makes one current. Streams of our own need
  // none.
  const weir::context_scope context{gpu};
  const weir::stream_ref before = weir::current_stream(gpu);
  std::printf("first: %s\n", weir::to_string(before).c_str());
  {
    // For this block, another one; afterwards exactly what was. Scopes nest.
    const weir::stream_scope scope{user_stream};
    if (weir::current_stream(gpu) != user_stream) return 1;
    clear({numbers.data(), numbers.size()});
  }
  if (weir::current_stream(gpu) != before) return 1;
  user_stream.sync();

  // Until further notice. Options of a scope can order the two streams on entry and on exit.
  weir::use(user_stream);
  const weir::stream_scope ordered{before, {.wait_on_entry = true, .wait_on_exit = true}};
  return numbers[999] == 0 ? 0 : 1;
}
