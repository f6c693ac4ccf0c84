// SPDX-License-Identifier: Apache-2.0
// completion/held_streams.cpp - blocks streams with a kernel that spins, or with a wait for a
// value.
#include "completion/held_streams.hpp"

#include "harness/raw.hpp"

#include <algorithm>
#include <weir/core/deferred.hpp>
#include <weir/core/driver.hpp>
#include <weir/kernel/launch.hpp>
#include <weir/kernel/program.hpp>
#include <weir/sync/value_wait.hpp>

namespace bench {
namespace {

constexpr const char* source = R"(
extern "C" __global__ void hold(volatile unsigned* released, volatile unsigned* begun, unsigned round) {
  *begun = round;
  while (static_cast<int>(*released - round) < 0) {
  }
}
)";

// A single module, never unloaded: unloading waits for all kernels, and those here wait for the
// host.
const weir::kernel& hold_kernel() {
  static const weir::kernel made = weir::program{source}.compile(weir::device{}).kernel("hold");
  return made;
}

}  // namespace

held_streams::held_streams(std::size_t count)
    : words_{count * words_per_stream},
      uses_kernel_{weir::current_driver().kind == weir::driver_kind::cuda} {
  const weir::device gpu;
  // The reclaimer thread may free earlier pinned memory. A driver then waits for all kernels, with
  // its lock held.
  weir::drain_deferred();
  std::ranges::fill(words_, 0u);
  for (std::size_t i = 0; i < count; ++i) streams_.emplace_back(gpu);
  if (!uses_kernel_ || count == 0) return;
  code_ = hold_kernel();
  // A driver loads code at its first launch, and may wait, with its lock held, until no work runs.
  hold(0);
  release(0);
  streams_[0].sync();
}

held_streams::~held_streams() {
  for (std::size_t i = 0; i < streams_.size(); ++i) release(i);
  for (const weir::stream& each : streams_)
    static_cast<void>(raw().cuStreamSynchronize(each.get()));
}

void held_streams::hold(std::size_t i) {
  const std::uint32_t round = released(i).load() + 1;
  std::uint32_t* const word = words_.data() + i * words_per_stream;
  if (uses_kernel_) {
    weir::launch(streams_[i], {}, code_, word, word + 1, round);
  } else {
    weir::wait_value(streams_[i], weir::wait_word_ref<std::uint32_t>{word}, weir::until::geq,
                     round);
    started(i).store(round);
  }
}

bool held_streams::has_started(std::size_t i) const {
  return started(i).load() == released(i).load() + 1;
}

void held_streams::release(std::size_t i) { released(i).fetch_add(1); }

std::atomic_ref<std::uint32_t> held_streams::released(std::size_t i) const {
  return std::atomic_ref{words_[i * words_per_stream]};
}
std::atomic_ref<std::uint32_t> held_streams::started(std::size_t i) const {
  return std::atomic_ref{words_[i * words_per_stream + 1]};
}

}  // namespace bench
