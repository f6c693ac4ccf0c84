// api/device/make_current.hpp - a context made current for a few calls.
#pragma once

#include "driver/abi.hpp"

#include <weir/core/call_site.hpp>

namespace weir::detail {

// Makes the context current unless it is already, and says whether it did: one look (11 ns) if it
// is, a push (with its pop 52 ns) if not. Only for calls that need it, which are few.
[[nodiscard]] bool push_current(abi::CUcontext context, call_site at);
// Makes current again what was before that push.
void pop_current() noexcept;

// Both, around a block.
class make_current {
 public:
  make_current(abi::CUcontext context, call_site at) : pushed_{push_current(context, at)} {}
  make_current(const make_current&) = delete;
  make_current& operator=(const make_current&) = delete;
  ~make_current() {
    if (pushed_) pop_current();
  }

 private:
  bool pushed_;
};

// The calling thread's current context; null if there is none.
[[nodiscard]] abi::CUcontext current_context_handle(call_site at);

}  // namespace weir::detail
