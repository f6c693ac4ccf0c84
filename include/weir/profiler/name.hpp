// weir/profiler/name.hpp - names of streams and other things, and ranges of work: for profilers,
// and for weir's own texts.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/detail/export.hpp>
#include <weir/device/context.hpp>
#include <weir/device/device.hpp>
#include <weir/event/event.hpp>
#include <weir/memory/memory_pool.hpp>
#include <weir/stream/stream.hpp>

#include <string>
#include <string_view>

namespace weir {
namespace detail {

struct profiler;  // nvtx.hpp, in src/api

// The profiler that listens: null where there is none. Until somebody asks, one that first finds
// out.
WEIR_EXPORT extern const profiler* profiler_in_use;
WEIR_EXPORT void push_range(const profiler* to, const char* name) noexcept;
WEIR_EXPORT void pop_range(const profiler* from) noexcept;
WEIR_EXPORT void mark(const profiler* at, const char* name) noexcept;

}  // namespace detail

// A name shows wherever the thing does: in a profiler's timeline, in weir's errors, and in
// to_string(): 'stream "copies" 0x55d0c8 (device 0)'; that of a device only where it is the thing
// itself. A later name replaces an earlier one, an empty one takes it away. Names of weir's own
// objects go with them; those of foreign or released streams and events stay until they are taken
// away, also for a later one that gets the same handle. The profiler is whichever tool the
// environment names in NVTX_INJECTION64_PATH, as Nsight Systems does for the programs that it
// starts; weir speaks the tools' protocol (NVTX 3) itself. Without one, naming only serves the
// texts. Closed ones are refused (closed). None of these makes a driver call. Thread safety: from
// any thread, in host functions and captures too.
WEIR_EXPORT void set_name(stream_ref stream, std::string_view name,
                          call_site at = call_site::current());
WEIR_EXPORT void set_name(event_ref event, std::string_view name,
                          call_site at = call_site::current());
// For texts: profilers know no pools.
WEIR_EXPORT void set_name(memory_pool_ref pool, std::string_view name,
                          call_site at = call_site::current());
WEIR_EXPORT void set_name(context_ref context, std::string_view name,
                          call_site at = call_site::current());
WEIR_EXPORT void set_name(device gpu, std::string_view name, call_site at = call_site::current());
// Of the calling thread, for profilers, and cut to 15 bytes for debuggers and the system's tools.
WEIR_EXPORT void set_thread_name(std::string_view name);

// The name given; empty if none was.
[[nodiscard]] WEIR_EXPORT std::string name_of(stream_ref stream);
[[nodiscard]] WEIR_EXPORT std::string name_of(event_ref event);
[[nodiscard]] WEIR_EXPORT std::string name_of(memory_pool_ref pool);
[[nodiscard]] WEIR_EXPORT std::string name_of(context_ref context);
[[nodiscard]] WEIR_EXPORT std::string name_of(device gpu);

// Marks, in a profiler's timeline, what the calling thread does until the end of the block. Ranges
// nest, and each ends on the thread that began it. It is the time of the host: of work that is only
// queued in it, the profiler knows. The text has to live until the constructor returns. Without a
// profiler one load. In a capture and in a host function: allowed.
class profile_range {
 public:
  [[nodiscard]] explicit profile_range(const char* name) noexcept
      : profiler_{__atomic_load_n(&detail::profiler_in_use, __ATOMIC_ACQUIRE)} {
    if (profiler_ != nullptr) [[unlikely]] {
      detail::push_range(profiler_, name);
    }
  }
  [[nodiscard]] explicit profile_range(const std::string& name) noexcept
      : profile_range{name.c_str()} {}
  profile_range(const profile_range&) = delete;
  profile_range& operator=(const profile_range&) = delete;
  ~profile_range() {
    if (profiler_ != nullptr) [[unlikely]] {
      detail::pop_range(profiler_);
    }
  }

 private:
  const detail::profiler* profiler_;
};

// Marks a moment. As cheap.
inline void profile_mark(const char* name) noexcept {
  const detail::profiler* const tool = __atomic_load_n(&detail::profiler_in_use, __ATOMIC_ACQUIRE);
  if (tool != nullptr) [[unlikely]] {
    detail::mark(tool, name);
  }
}

}  // namespace weir
