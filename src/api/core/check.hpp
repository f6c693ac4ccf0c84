// api/core/check.hpp - from the driver's answer to weir::error: nothing on success, out of line
// otherwise.
#pragma once

#include "api/core/call_restrictions.hpp"
#include "driver/table.hpp"

#include <weir/core/call_site.hpp>
#include <weir/core/errc.hpp>
#include <weir/detail/closed.hpp>
#include <weir/event/event.hpp>
#include <weir/memory/memory_pool.hpp>
#include <weir/stream/stream.hpp>

#include <string>

namespace weir::detail {

// What a call was made on, for the text of its error.
struct subject {
  enum class kind : unsigned char {
    none,
    stream,
    event,
    device,
    context,
    memory,
    pool,
    graph,
    graph_exec
  };

  constexpr subject() noexcept = default;
  constexpr subject(stream_ref s) noexcept : what{kind::stream}, handle{s.get()} {}
  constexpr subject(event_ref e) noexcept : what{kind::event}, handle{e.get()} {}
  constexpr subject(weir::device gpu) noexcept : what{kind::device}, ordinal{gpu.ordinal()} {}
  constexpr subject(memory_pool_ref p) noexcept
      : what{kind::pool}, ordinal{p.device().ordinal()}, handle{p.get()} {}
  constexpr explicit subject(CUcontext context) noexcept : what{kind::context}, handle{context} {}
  [[nodiscard]] static constexpr subject graph(CUgraph graph) noexcept {
    return of(kind::graph, graph);
  }
  [[nodiscard]] static constexpr subject graph_exec(CUgraphExec exec) noexcept {
    return of(kind::graph_exec, exec);
  }
  [[nodiscard]] static constexpr subject memory(const void* address) noexcept {
    return of(kind::memory, address);
  }

  kind what = kind::none;
  int ordinal = 0;
  const void* handle = nullptr;

 private:
  static constexpr subject of(kind what, const void* handle) noexcept {
    subject s;
    s.what = what;
    s.handle = handle;
    return s;
  }
};

[[nodiscard]] std::string to_text(subject on);

// Throw weir::error. The second form says in its own words what is wrong and what to do.
[[noreturn, gnu::cold]] void throw_error(errc code, const char* call, subject on, call_site at);
[[noreturn, gnu::cold]] void throw_error(errc code, const char* call, std::string object,
                                         std::string hint, call_site at);
[[noreturn, gnu::cold]] void throw_closed(const char* call, subject on, call_site at);
// The same for what the driver has answered, which may have broken a capture.
[[noreturn, gnu::cold]] void throw_driver_error(errc answer, const char* call, subject on,
                                                call_site at);

// For what cannot throw: the failure goes to set_unhandled_error_handler. A driver that is shutting
// down is no failure, nor is one that stayed in the parent of a forked child, as what the child's
// objects name did.
[[gnu::cold]] void report_unhandled(errc code, const char* call, subject on) noexcept;

inline void check(CUresult answer, const char* call, subject on, call_site at) {
  if (answer != CUDA_SUCCESS) [[unlikely]] {
    throw_driver_error(static_cast<errc>(answer), call, on, at);
  }
}

inline void report_if_failed(CUresult answer, const char* call, subject on) noexcept {
  if (answer != CUDA_SUCCESS) [[unlikely]] {
    report_unhandled(static_cast<errc>(answer), call, on);
  }
}

// Refuses to call the driver from a host function, where a driver may deadlock instead of
// answering.
inline void require_outside_host_function(const char* call, subject on, call_site at) {
  if (inside_host_function) [[unlikely]] {
    throw_error(errc::not_permitted, call, on, at);
  }
}

// The driver for calls that answer with a code; null if none can be had.
[[nodiscard]] inline const driver_table* try_driver() noexcept {
  try {
    return &driver();
  } catch (...) {
    return nullptr;
  }
}

// The handle to give to the driver: of an open object, on a thread where calls are allowed.
inline CUstream require_open(stream_ref s, const char* call, call_site at) {
  require_outside_host_function(call, s, at);
  if (s.get() == closed_handle<CUstream_st>()) [[unlikely]] {
    throw_closed(call, s, at);
  }
  return s.get();
}

inline CUevent require_open(event_ref e, const char* call, call_site at) {
  require_outside_host_function(call, e, at);
  if (e.get() == closed_handle<CUevent_st>()) [[unlikely]] {
    throw_closed(call, e, at);
  }
  return e.get();
}

// The same for calls that answer with a code: success if the handle can be used.
template <class Handle>
[[nodiscard]] errc check_open(Handle* handle) noexcept {
  if (inside_host_function) return errc::not_permitted;
  return handle == closed_handle<Handle>() ? errc::closed : errc::success;
}

[[nodiscard]] inline bool is_legacy(CUstream s) noexcept {
  return s == nullptr || s == CU_STREAM_LEGACY;
}
[[nodiscard]] inline bool is_default(CUstream s) noexcept {
  return is_legacy(s) || s == CU_STREAM_PER_THREAD;
}

[[nodiscard]] inline CUdeviceptr device_address(const void* pointer) noexcept {
  return static_cast<CUdeviceptr>(reinterpret_cast<std::uintptr_t>(pointer));
}

}  // namespace weir::detail
