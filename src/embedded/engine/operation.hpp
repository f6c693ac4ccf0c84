// SPDX-License-Identifier: Apache-2.0
// embedded/engine/operation.hpp - one unit of work of a stream, in one cache line.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

namespace weir::embedded::engine {

class timeline;

// A position in a timeline, the sequence of operations of a stream. The point is reached when
// `count` operations of the timeline have completed. A point without a timeline stands for "no
// point" and counts as reached. Timelines are never destroyed and their counts never decrease, so a
// point can be copied freely and never dangles.
struct point {
  timeline* line = nullptr;  // null: no point
  std::uint64_t count = 0;

  [[nodiscard]] bool reached() const noexcept;
};

// How the engine runs an operation.
enum class operation_kind : std::uint8_t {
  work,  // runs on any thread that runs its timeline
  // Like `work`, but may take very long. Does not run on the host thread, which other streams need.
  long_work,
  host,        // runs only on the host thread, which runs the host functions of all streams
  wait_point,  // blocks the timeline until a point is reached
  // Blocks the timeline until the operation's body returns true or the device fails. The
  // operation's payload begins with the address of the awaited word: aligned, of 4 or 8 bytes.
  wait_value,
};

// Returns the kind of work that accesses `bytes` bytes. Other work should not wait behind an
// operation on more than 16 KiB.
[[nodiscard]] constexpr operation_kind kind_of(std::size_t bytes) noexcept {
  return bytes > 16 * 1024 ? operation_kind::long_work : operation_kind::work;
}

// The number of submissions so far, by which schedule_kind::early orders operations. Counted under
// the deterministic schedules only.
inline constinit std::atomic<std::uint32_t> submission_clock{0};

// A function and up to 48 bytes of payload, copied when it is enqueued. A larger payload is
// allocated by the submitter and freed by the body.
struct alignas(64) operation {
  // Does the work; must not throw. Returns false for wait_value if the value is not reached yet,
  // otherwise only if it made the device fail.
  using body_fn = bool (*)(operation&) noexcept;

  static constexpr std::size_t payload_size = 48;

  body_fn body = nullptr;  // null: for wait_point, and for a wait that has ended
  operation_kind kind = operation_kind::work;
  bool runs_after_failure = false;  // runs even after the device has failed: callbacks, releases
  std::uint32_t submission = 0;     // submission_clock when it was added to its timeline
  alignas(8) std::byte payload[payload_size];

  template <class Work>
  [[nodiscard]] Work& as() noexcept {
    return *std::launder(reinterpret_cast<Work*>(payload));
  }
};

static_assert(sizeof(operation) == 64);

// Makes an operation from a small trivially copyable object with `bool run() noexcept` or `void
// run() noexcept`. It is skipped after the device has failed.
template <class Work>
operation make_operation(const Work& work, operation_kind kind = operation_kind::work) noexcept {
  static_assert(sizeof(Work) <= operation::payload_size && std::is_trivially_copyable_v<Work>);
  operation op;
  op.body = [](operation& self) noexcept -> bool {
    if constexpr (std::is_void_v<decltype(std::declval<Work&>().run())>) {
      self.as<Work>().run();
      return true;
    } else {
      return self.as<Work>().run();
    }
  };
  op.kind = kind;
  ::new (op.payload) Work{work};
  return op;
}

// Makes an operation that also runs after the device has failed: a callback, or a release.
template <class Work>
operation make_unconditional_operation(const Work& work,
                                       operation_kind kind = operation_kind::work) noexcept {
  operation op = make_operation(work, kind);
  op.runs_after_failure = true;
  return op;
}

}  // namespace weir::embedded::engine
