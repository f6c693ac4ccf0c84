// SPDX-License-Identifier: Apache-2.0
// api/core/check.hpp - turns results of the driver into weir::error. Success costs one inline
// comparison; the rest is out of line.
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

// The object of a call, for the text of its error.
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
  constexpr subject(stream_ref s) noexcept : type{kind::stream}, handle{s.get()} {}
  constexpr subject(event_ref e) noexcept : type{kind::event}, handle{e.get()} {}
  constexpr subject(weir::device gpu) noexcept : type{kind::device}, ordinal{gpu.ordinal()} {}
  constexpr subject(memory_pool_ref p) noexcept
      : type{kind::pool}, ordinal{p.device().ordinal()}, handle{p.get()} {}
  constexpr explicit subject(CUcontext context) noexcept : type{kind::context}, handle{context} {}
  [[nodiscard]] static constexpr subject graph(CUgraph graph) noexcept {
    return {kind::graph, graph};
  }
  [[nodiscard]] static constexpr subject graph_exec(CUgraphExec exec) noexcept {
    return {kind::graph_exec, exec};
  }
  [[nodiscard]] static constexpr subject memory(const void* address) noexcept {
    return {kind::memory, address};
  }

  kind type = kind::none;
  int ordinal = 0;               // of the device, or of the pool's device
  const void* handle = nullptr;  // null for a device

 private:
  constexpr subject(kind object_type, const void* object_handle) noexcept
      : type{object_type}, handle{object_handle} {}
};

[[nodiscard]] std::string to_text(subject object);

// Throws weir::error. The text of the object and the hint are derived from `object` and `code`.
[[noreturn, gnu::cold]] void throw_error(errc code, const char* call, subject object, call_site at);
// Throws weir::error with this text for the object and this hint.
[[noreturn, gnu::cold]] void throw_error(errc code, const char* call, std::string object,
                                         std::string hint, call_site at);
// Throws errc::closed.
[[noreturn, gnu::cold]] void throw_closed(const char* call, subject object, call_site at);
// Throws the error for a result of the driver. First determines whether the failed call has
// invalidated an open capture, and stores the call in the record of that capture.
[[noreturn, gnu::cold]] void throw_driver_error(errc answer, const char* call, subject object,
                                                call_site at);

// Passes a failure that cannot be thrown to set_unhandled_error_handler()'s handler. Ignores
// failures while the driver shuts down. Ignores all failures in a forked child, whose driver and
// objects belong to the parent.
[[gnu::cold]] void report_unhandled(errc code, const char* call, subject object) noexcept;

inline void check(CUresult answer, const char* call, subject object, call_site at) {
  if (answer != CUDA_SUCCESS) [[unlikely]] {
    throw_driver_error(static_cast<errc>(answer), call, object, at);
  }
}

// The part of a call's object that has caused a failure, such as "word at 0x7f10" or
// "sync_domain_map". If `hint` is empty, the hint for the error code is used.
struct error_part {
  std::string name;
  std::string hint = {};
};

// Throws like check(answer, call, object, at). Adds the name of `failed_part` to the object, and
// replaces the hint if `failed_part` has one. `answer` must not be CUDA_SUCCESS.
[[noreturn, gnu::cold]] void throw_for_part(CUresult answer, const char* call, subject object,
                                            const error_part& failed_part, call_site at);

inline void report_if_failed(CUresult answer, const char* call, subject object) noexcept {
  if (answer != CUDA_SUCCESS) [[unlikely]] {
    report_unhandled(static_cast<errc>(answer), call, object);
  }
}

// Throws not_permitted in a host function, where a driver may deadlock instead of returning an
// error.
inline void require_outside_host_function(const char* call, subject object, call_site at) {
  if (inside_host_function) [[unlikely]] {
    throw_error(errc::not_permitted, call, object, at);
  }
}

// Returns the driver table, or null if the driver cannot be loaded. Used by functions that return
// an error code.
[[nodiscard]] inline const driver_table* try_driver() noexcept {
  try {
    return &driver();
  } catch (...) {
    return nullptr;
  }
}

// Throws if the object is closed or this thread runs a host function.
inline void require_open(subject object, const char* call, call_site at) {
  require_outside_host_function(call, object, at);
  if (object.handle == closed_handle<void>()) [[unlikely]] {
    throw_closed(call, object, at);
  }
}
// These also return the handle, for a driver call.
inline CUstream require_open(stream_ref s, const char* call, call_site at) {
  require_open(subject{s}, call, at);
  return s.get();
}
inline CUevent require_open(event_ref e, const char* call, call_site at) {
  require_open(subject{e}, call, at);
  return e.get();
}
inline CUmemoryPool require_open(memory_pool_ref pool, const char* call, call_site at) {
  require_open(subject{pool}, call, at);
  return pool.get();
}

// Like require_open(), for functions that return an error code. Returns errc::success if the handle
// can be used in a driver call.
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
[[nodiscard]] inline void* to_pointer(CUdeviceptr address) noexcept {
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
}

}  // namespace weir::detail
