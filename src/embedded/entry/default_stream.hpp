// embedded/entry/default_stream.hpp - what a null stream means on this thread, in the call that is
// being made.
#pragma once

namespace weir::embedded::entry {

// Set while a per-thread variant (cuStreamQuery_ptsz, ...) runs. A variant has the parameters of
// its plain function and calls its entry; only the meaning of null differs, so it travels beside
// the arguments.
inline constinit thread_local bool null_means_per_thread = false;

// Does a null stream, or the stream that a call without one uses, mean this thread's own default
// stream?
[[nodiscard]] inline bool null_is_per_thread() noexcept { return null_means_per_thread; }

// Makes it so until the end of the scope.
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
