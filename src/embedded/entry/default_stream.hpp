// SPDX-License-Identifier: Apache-2.0
// embedded/entry/default_stream.hpp - selects the default stream that a null stream argument means
// in the current call.
#pragma once

namespace weir::embedded::entry {

enum class default_stream { legacy, per_thread };

// The default stream that a null stream means in the call that this thread is in, also for a call
// without a stream argument. A per-thread variant (cuStreamQuery_ptsz, ...) sets it and calls the
// plain function. A variable is needed because both have equal parameters.
inline constinit thread_local default_stream null_stream = default_stream::legacy;

// Selects the per-thread default stream until the end of the scope, then restores the previous
// setting.
class per_thread_default_scope {
 public:
  per_thread_default_scope() noexcept : previous_{null_stream} {
    null_stream = default_stream::per_thread;
  }
  ~per_thread_default_scope() { null_stream = previous_; }
  per_thread_default_scope(const per_thread_default_scope&) = delete;
  per_thread_default_scope& operator=(const per_thread_default_scope&) = delete;

 private:
  default_stream previous_;
};

}  // namespace weir::embedded::entry
