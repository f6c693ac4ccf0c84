// SPDX-License-Identifier: Apache-2.0
// kernel/fibers/fiber.cpp - beginning fibers, and jumps out of them.
#include "embedded/kernel/fibers/fiber.hpp"

#if defined(WEIR_FIBERS_TELL_ASAN)
#include <sanitizer/asan_interface.h>
#endif

namespace weir::embedded::kernel {

namespace context = boost::context::detail;

fiber::fiber() noexcept = default;

#if defined(WEIR_FIBERS_TELL_TSAN)
fiber::~fiber() {
  if (own_) __tsan_destroy_fiber(known_as_);
}
#else
fiber::~fiber() = default;
#endif

void fiber::begin(fiber_stack on, std::size_t lower_by, body_fn body, void* argument) noexcept {
  body_ = body;
  argument_ = argument;
  const std::size_t bytes = on.bytes - lower_by;
  context_ = context::make_fcontext(on.lowest + bytes, bytes,
                                    [](context::transfer_t from) { enter(from); });
#if defined(WEIR_FIBERS_TELL_ASAN)
  __asan_unpoison_memory_region(on.lowest, on.bytes);
  fake_stack_ = nullptr;
  lowest_ = on.lowest;
  bytes_ = bytes;
#elif defined(WEIR_FIBERS_TELL_TSAN)
  if (own_) __tsan_destroy_fiber(known_as_);
  known_as_ = __tsan_create_fiber(0);
  own_ = true;
#endif
}

void fiber::enter(context::transfer_t from) noexcept {
  fiber& me = *static_cast<fiber*>(from.data)->next_;
  arrived(from, me);
  me.body_(me.argument_);
}

void fiber::about_to_jump([[maybe_unused]] fiber& to) noexcept {
#if defined(WEIR_FIBERS_TELL_ASAN)
  __sanitizer_start_switch_fiber(nullptr, to.lowest_, to.bytes_);
#elif defined(WEIR_FIBERS_TELL_TSAN)
  __tsan_switch_to_fiber(to.known_as_, 0);
#endif
}

void fiber::has_jumped([[maybe_unused]] fiber& to) noexcept {
#if defined(WEIR_FIBERS_TELL_ASAN)
  __sanitizer_finish_switch_fiber(to.fake_stack_, nullptr, nullptr);
  // The functions between here and where `to` was left never return.
  const auto* const left = static_cast<const std::byte*>(to.context_);
  const auto* const here = static_cast<const std::byte*>(__builtin_frame_address(0));
  if (left < here) __asan_unpoison_memory_region(left, static_cast<std::size_t>(here - left));
#endif
}

}  // namespace weir::embedded::kernel
