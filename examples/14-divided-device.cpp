// SPDX-License-Identifier: Apache-2.0
// Lesson 14: a divided device: urgent work gets multiprocessors of its own.
#include <cstdio>
#include <span>
#include <vector>
#include <weir/weir.hpp>

int main() {
  const weir::device gpu;
  const weir::sm_resource whole = weir::sm_resource::query(gpu);

  // A quarter of the multiprocessors is for urgent work and the rest for all other work. Both parts
  // come from one split, so they do not overlap.
  const weir::sm_split by = whole.split(1, whole.count() / 4);
  const weir::green_context urgent{by.groups[0]};
  const weir::green_context ordinary{by.remainder};
  std::printf("%u multiprocessors: %u for urgent work, %u for the rest\n", whole.count(),
              urgent.multiprocessors().count(), ordinary.multiprocessors().count());

  // A stream keeps its context alive. All contexts of the device can use its memory.
  const weir::stream answers{urgent, {.priority = gpu.priorities().greatest}};
  const weir::stream background{ordinary};
  weir::buffer<int> table{background, 1 << 20};
  weir::buffer<int> reply{answers, 256};

  for (int i = 0; i < 100; ++i) weir::fill(background, table, i);
  const weir::timed_event requested = answers.record_timed();
  weir::fill(answers, reply, 42);
  const weir::timed_event answered = answers.record_timed();
  std::printf("answered in %.3f ms while the background worked\n",
              static_cast<double>(weir::sync_elapsed(requested, answered)));

  // Records one event behind all streams of a context: the answers continue after the background
  // work.
  const weir::event through{gpu};
  ordinary.record(through);
  urgent.wait(through);
  weir::copy(answers, std::span{table.data(), reply.size()}, reply);
  std::vector<int> host(256);
  weir::copy(answers, reply, host);
  answers.sync();
  const bool right = host == std::vector<int>(256, 99);
  std::printf("%s\n", right ? "the background's last table was read" : "too early");
  return right ? 0 : 1;
}
