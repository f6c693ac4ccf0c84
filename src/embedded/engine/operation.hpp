// engine/operation.hpp - one unit of work of a stream, in one cache line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

namespace weir::embedded::engine {

class timeline;

// A place in a timeline: reached once that many of its operations have completed. Timelines are
// immortal and their counts never go back, so a point may be kept and copied without care and never
// dangles.
struct point {
  timeline* line = nullptr;  // null: nothing to wait for
  std::uint64_t count = 0;

  [[nodiscard]] bool reached() const noexcept;
};

// What the engine has to know about an operation before it runs it.
enum class operation_kind : std::uint8_t {
  work,        // runs wherever its timeline runs
  long_work,   // the same, but not on the thread of the host functions, which others wait for; it
               // may take for ever
  host,        // runs only on the thread of the host functions
  wait_point,  // holds the timeline until a point is reached
  wait_value,  // holds the timeline until its body says that a word of memory has the value; its
               // work begins with the address of the word, 4 or 8 bytes that are aligned
};

// The kind of work that touches so many bytes: above 16 KiB it takes so long that others should not
// wait behind it.
[[nodiscard]] constexpr operation_kind kind_of(std::size_t bytes) noexcept {
  return bytes > 16 * 1024 ? operation_kind::long_work : operation_kind::work;
}

// An operation: a function and up to 48 bytes for it, copied in when it is enqueued. Larger work is
// boxed by its owner and freed by its body.
struct alignas(64) operation {
  // Does the work. Returns false for wait_value: not yet; else only where it failed the device.
  // Must not throw.
  using body_fn = bool (*)(operation&) noexcept;

  static constexpr std::size_t payload_size = 48;

  body_fn body = nullptr;
  operation_kind kind = operation_kind::work;
  bool runs_after_failure = false;  // also once the device has failed: callbacks, releases
  alignas(8) std::byte payload[payload_size];

  template <class Work>
  [[nodiscard]] Work& as() noexcept {
    return *std::launder(reinterpret_cast<Work*>(payload));
  }
};

static_assert(sizeof(operation) == 64);

// Makes an operation of a small trivially copyable object with `bool run() noexcept` or `void run()
// noexcept`.
template <class Work>
operation make_operation(const Work& work, operation_kind kind = operation_kind::work,
                         bool runs_after_failure = false) noexcept {
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
  op.runs_after_failure = runs_after_failure;
  ::new (op.payload) Work{work};
  return op;
}

}  // namespace weir::embedded::engine
