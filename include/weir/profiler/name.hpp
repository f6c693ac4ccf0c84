// SPDX-License-Identifier: Apache-2.0
// weir/profiler/name.hpp - names of objects and ranges of host time, for profilers and for weir's
// messages.
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

struct profiler;  ///< defined in src/api/profiler/nvtx.hpp

/// The functions of the attached profiler; null if there is none. Before the first use it points to
/// a placeholder, with which push_range(), pop_range() and mark() load the profiler and set this
/// pointer. `tool`: the value of profiler_in_use that the caller has read.
WEIR_EXPORT extern const profiler* profiler_in_use;
WEIR_EXPORT void push_range(const profiler* tool, const char* name) noexcept;
WEIR_EXPORT void pop_range(const profiler* tool) noexcept;
WEIR_EXPORT void mark(const profiler* tool, const char* name) noexcept;

}  // namespace detail

/// Names a stream. A name is shown in a profiler's timeline, in weir's errors and in to_string():
/// 'stream "copies" 0x55d0c8 (device 0)'. A new name replaces the previous one; an empty name
/// removes it.
///
/// If weir owns the stream, its name is removed with the stream. The name of a foreign or released
/// stream or event remains until set_name() removes it, even if the driver gives the handle to
/// another object. The profiler is the tool that the environment variable NVTX_INJECTION64_PATH
/// names; Nsight Systems sets it for the programs that it starts. weir implements the tools'
/// protocol (NVTX 3) itself. Without a profiler, names only appear in messages. Makes no driver
/// call.
///
/// Throws: `closed` for a closed stream.
/// In a capture: allowed.
/// In a host function: allowed.
/// Thread safety: may be called from any thread.
WEIR_EXPORT void set_name(stream_ref stream, std::string_view name,
                          call_site at = call_site::current());
/// Names an event, as set_name() of a stream.
///
/// Throws: `closed` for a closed event.
WEIR_EXPORT void set_name(event_ref event, std::string_view name,
                          call_site at = call_site::current());
/// Names a pool, for messages only: profilers do not show pools.
///
/// Throws: `closed` for a closed pool.
WEIR_EXPORT void set_name(memory_pool_ref pool, std::string_view name,
                          call_site at = call_site::current());
/// Names a context, as set_name() of a stream.
///
/// Throws: `closed` for a closed context.
WEIR_EXPORT void set_name(context_ref context, std::string_view name,
                          call_site at = call_site::current());
/// Names a device. A message shows the name only if the device itself is the subject of the
/// message, not for the device's streams.
WEIR_EXPORT void set_name(device gpu, std::string_view name, call_site at = call_site::current());
/// Names the calling thread for profilers and, cut to 15 bytes, for debuggers and system tools.
WEIR_EXPORT void set_thread_name(std::string_view name);

/// Returns the name of a stream; empty if it has none.
[[nodiscard]] WEIR_EXPORT std::string name_of(stream_ref stream);
/// Returns the name of an event; empty if it has none.
[[nodiscard]] WEIR_EXPORT std::string name_of(event_ref event);
/// Returns the name of a pool; empty if it has none.
[[nodiscard]] WEIR_EXPORT std::string name_of(memory_pool_ref pool);
/// Returns the name of a context; empty if it has none.
[[nodiscard]] WEIR_EXPORT std::string name_of(context_ref context);
/// Returns the name of a device; empty if it has none.
[[nodiscard]] WEIR_EXPORT std::string name_of(device gpu);

/// Marks a range of the calling thread's time in a profiler's timeline, from the construction to
/// the destruction of this object. The range covers host time; the profiler relates to it the work
/// that the thread queues meanwhile. Ranges nest. Destroy each object on the thread that created
/// it.
///
/// In a capture: allowed.
/// In a host function: allowed.
/// Cost: one load without a profiler.
class profile_range {
 public:
  /// Begins a range. The text must be valid until the constructor returns.
  [[nodiscard]] explicit profile_range(const char* name) noexcept
      : profiler_{__atomic_load_n(&detail::profiler_in_use, __ATOMIC_ACQUIRE)} {
    if (profiler_ != nullptr) [[unlikely]] {
      detail::push_range(profiler_, name);
    }
  }
  /// Begins a range.
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
  const detail::profiler* profiler_;  ///< null if there was no profiler at construction
};

/// Marks a moment in a profiler's timeline. The text must be valid until the call returns.
///
/// Cost: one load without a profiler.
inline void profile_mark(const char* name) noexcept {
  const detail::profiler* const tool = __atomic_load_n(&detail::profiler_in_use, __ATOMIC_ACQUIRE);
  if (tool != nullptr) [[unlikely]] {
    detail::mark(tool, name);
  }
}

}  // namespace weir
