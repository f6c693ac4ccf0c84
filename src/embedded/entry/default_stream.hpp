// SPDX-License-Identifier: Apache-2.0
// embedded/entry/default_stream.hpp - which default stream a null stream argument means in the
// current call.
#pragma once

namespace weir::embedded::entry {

// True while a per-thread variant (cuStreamQuery_ptsz, ...) runs on this thread. A variant has the
// parameters of its plain function and calls the plain entry point. Only the meaning of a null
// stream differs, so that meaning is passed in this variable.
inline constinit thread_local bool null_means_per_thread = false;

// Returns true if a null stream, or the implicit stream of a call without a stream argument, is the
// calling thread's own default stream. Otherwise it is the legacy stream.
[[nodiscard]] inline bool null_is_per_thread() noexcept { return null_means_per_thread; }

// Selects the per-thread default stream until the end of the scope, then restores the previous
// setting.
class per_thread_default_scope {
 public:
  per_thread_default_scope() noexcept : before_{null_means_per_thread} {
    null_means_per_thread = true;
  }
  ~per_thread_default_scope() { null_means_per_thread = before_; }
  per_thread_default_scope(const per_thread_default_scope&) = delete;
  per_thread_default_scope& operator=(const per_thread_default_scope&) = delete;

 private:
  bool before_;
};

}  // namespace weir::embedded::entry
