// SPDX-License-Identifier: Apache-2.0
// api/memory/copy.cpp - copies in stream order.
#include <weir/memory/copy.hpp>

#include "api/capture/capture_checks.hpp"
#include "api/capture/relaxed_capture_guard.hpp"
#include "api/core/check.hpp"
#include "api/core/sync_allowed.hpp"
#include "api/device/make_current.hpp"
#include "api/memory/operand.hpp"
#include "api/stream/stream_state.hpp"

#include <fmt/format.h>

#include <optional>

namespace weir::detail {
namespace {

[[noreturn, gnu::cold]] void throw_too_long(const region& source, const region& target,
                                            call_site at) {
  throw_error(
      errc::invalid_value, "weir::copy", fmt::format("memory at {}", target.address),
      fmt::format("{} bytes do not fit into {}; copy a part of the source, such as x.first(n)",
                  source.bytes, target.bytes),
      at);
}

// Returns true if both sides are known to be in different contexts.
[[nodiscard]] bool is_between_contexts(const region& source, const region& target) noexcept {
  return source.owner != nullptr && target.owner != nullptr &&
         source.owner->device_context() != nullptr && target.owner->device_context() != nullptr &&
         source.owner->device_context() != target.owner->device_context();
}

// Called after the driver refused a copy with INVALID_VALUE. Tries again with the context of the
// stream current, unless it is current already or no context is current.
//
// The driver checks the access rights of pool memory for the device of the current context, not for
// the device of the stream.
[[nodiscard, gnu::cold]] CUresult copy_in_own_context(CUdeviceptr dst, CUdeviceptr src,
                                                      std::size_t bytes, CUstream stream,
                                                      call_site at) {
  const CUcontext current = current_context_handle(at);
  const CUcontext stream_context = current != nullptr ? context_of(stream, at) : nullptr;
  if (stream_context == current) return CUDA_ERROR_INVALID_VALUE;
  const make_current there{stream_context, at};
  return driver().cuMemcpyAsync(dst, src, bytes, stream);
}

// Returns the CU_MEMORYTYPE of memory; nothing if the driver does not know it.
std::optional<unsigned> memory_type(const region& memory) {
  unsigned type = 0;
  const CUresult answer = driver().cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                                         device_address(memory.address));
  return answer == CUDA_SUCCESS ? std::optional{type} : std::nullopt;
}

}  // namespace

bool is_pageable(const region& memory) {
  return memory.owner == nullptr && !memory_type(memory).has_value();
}

namespace {

// Returns true if the call of a single copy may block the host: one side is pageable, or both sides
// are host memory.
bool may_block(const region& source, const region& target) {
  const auto is_on_host = [](const region& memory) {
    return memory_type(memory).value_or(CU_MEMORYTYPE_HOST) == CU_MEMORYTYPE_HOST;
  };
  return is_pageable(source) || is_pageable(target) || (is_on_host(source) && is_on_host(target));
}

}  // namespace

void copy_region(stream_ref stream, const region& source, const region& target, call_site at) {
  constexpr const char* call = "cuMemcpyAsync";
  const CUstream handle = require_open(stream, call, at);
  const operand source_use{source, stream, call, at};
  const operand target_use{target, stream, call, at};
  if (source.bytes > target.bytes) [[unlikely]] {
    throw_too_long(source, target, at);
  }
  if (source.bytes == 0) return;
  if (current_sync_guard != nullptr && may_block(source, target)) [[unlikely]] {
    require_sync_allowed(call, at);
  }

  const CUdeviceptr dst = device_address(target.address);
  const CUdeviceptr src = device_address(source.address);
  if (is_between_contexts(source, target)) [[unlikely]] {
    constexpr const char* peer_call = "cuMemcpyPeerAsync";
    throw_if_capturing(handle, peer_call, at);  // the call would invalidate the capture
    check(driver().cuMemcpyPeerAsync(dst, target.owner->device_context(), src,
                                     source.owner->device_context(), source.bytes, handle),
          peer_call, stream, at);
  } else {
    // A copy is captured with the stream's context current. Without a current context, the driver
    // of an H200 records a copy of pool memory as another kind of copy. It crashes when an
    // executable is launched that was updated from such a graph.
    std::optional<make_current> current;
    if (any_capture_active() && is_captured(handle)) [[unlikely]] {
      current.emplace(context_of(handle, at), at);
    }
    const CUresult answer = driver().cuMemcpyAsync(dst, src, source.bytes, handle);
    if (answer != CUDA_SUCCESS) [[unlikely]] {
      check(answer == CUDA_ERROR_INVALID_VALUE
                ? copy_in_own_context(dst, src, source.bytes, handle, at)
                : answer,
            call, stream, at);
    }
  }
  source_use.record_uses(at);
  target_use.record_uses(at);
}

}  // namespace weir::detail
