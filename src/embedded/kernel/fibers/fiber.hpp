// SPDX-License-Identifier: Apache-2.0
// kernel/fibers/fiber.hpp - a stack that a thread of the host can leave in the middle of a
// function, and come back to.
#pragma once

#include <boost/context/detail/fcontext.hpp>

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define WEIR_FIBERS_TELL_ASAN 1
#elif defined(__SANITIZE_THREAD__)
#define WEIR_FIBERS_TELL_TSAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WEIR_FIBERS_TELL_ASAN 1
#elif __has_feature(thread_sanitizer)
#define WEIR_FIBERS_TELL_TSAN 1
#endif
#endif

#if defined(WEIR_FIBERS_TELL_ASAN)
#include <sanitizer/common_interface_defs.h>
#elif defined(WEIR_FIBERS_TELL_TSAN)
#include <sanitizer/tsan_interface.h>
#endif

namespace weir::embedded::kernel {

// Memory for a stack, which grows downwards from its end. What lies below it cannot be touched.
struct fiber_stack {
  std::byte* lowest = nullptr;
  std::size_t bytes = 0;
};

// A fiber belongs to one thread of the host, and so does who calls its members. The sanitizers are
// told of each change of stacks.
class fiber {
 public:
  // The stack that the thread was given.
  fiber() noexcept;
  ~fiber();  // NOLINT(performance-trivially-destructible): not where a sanitizer is told
  fiber(const fiber&) = delete;
  fiber& operator=(const fiber&) = delete;

  // Makes it one that will run body(argument), which never returns. Where it was one already, what
  // is on its stack is forgotten. `lower_by` shifts the beginning of its stack: fibers that begin
  // at the same place of their pages would be in each other's way in the cache.
  using body_fn = void (*)(void* argument) noexcept;
  void begin(fiber_stack on, std::size_t lower_by, body_fn body, void* argument) noexcept;
  [[nodiscard]] bool begun() const noexcept { return body_ != nullptr; }

  // Leaves the fiber that runs for another one; returns when somebody comes back to it.
  static void go(fiber& from, fiber& to) noexcept;

  // What the sanitizers have to know before a jump by siglongjmp() to `to`, and after it: nobody
  // comes back to where it started.
  static void about_to_jump(fiber& to) noexcept;
  static void has_jumped(fiber& to) noexcept;

 private:
  static void enter(boost::context::detail::transfer_t from) noexcept;
  static void arrived(boost::context::detail::transfer_t from, fiber& at) noexcept;

  boost::context::detail::fcontext_t context_ = nullptr;  // where it was left
  fiber* next_ = nullptr;                                 // where it was left for
  body_fn body_ = nullptr;
  void* argument_ = nullptr;
#if defined(WEIR_FIBERS_TELL_ASAN)
  void* fake_stack_ = nullptr;
  const void* lowest_ = nullptr;
  std::size_t bytes_ = 0;
#elif defined(WEIR_FIBERS_TELL_TSAN)
  void* known_as_ = nullptr;
  bool own_ = false;
#endif
};

inline void fiber::arrived(boost::context::detail::transfer_t from,
                           [[maybe_unused]] fiber& at) noexcept {
  auto& left = *static_cast<fiber*>(from.data);
  left.context_ = from.fctx;
#if defined(WEIR_FIBERS_TELL_ASAN)
  const void* lowest = nullptr;
  std::size_t bytes = 0;
  __sanitizer_finish_switch_fiber(at.fake_stack_, &lowest, &bytes);
  if (left.body_ == nullptr) {
    left.lowest_ = lowest;
    left.bytes_ = bytes;
  }
#endif
}

inline void fiber::go(fiber& from, fiber& to) noexcept {
  from.next_ = &to;
#if defined(WEIR_FIBERS_TELL_ASAN)
  __sanitizer_start_switch_fiber(&from.fake_stack_, to.lowest_, to.bytes_);
#elif defined(WEIR_FIBERS_TELL_TSAN)
  if (from.known_as_ == nullptr) from.known_as_ = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(to.known_as_, 0);
#endif
  arrived(boost::context::detail::jump_fcontext(to.context_, &from), from);
}

}  // namespace weir::embedded::kernel
