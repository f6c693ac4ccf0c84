// SPDX-License-Identifier: Apache-2.0
// api/sync/value_failure.cpp - determines which wait or write of a word the driver has refused, and
// why.
#include "api/sync/value_failure.hpp"

#include "api/core/check.hpp"
#include "api/stream/stream_state.hpp"

#include <weir/core/error.hpp>
#include <weir/device/context.hpp>
#include <weir/sync/wait_word.hpp>

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>

namespace weir::detail {

using namespace abi;

namespace {

// The word that a step accesses. `bytes` is its size, or 0 for a step that accesses none. `waits`
// is false for a write. `flags` are the flags of the driver.
struct word_access {
  CUdeviceptr address = 0;
  unsigned bytes = 0;
  bool waits = false;
  unsigned flags = 0;
};

word_access access_of(const CUstreamBatchMemOpParams& step) noexcept {
  switch (step.operation) {
    case CU_STREAM_MEM_OP_WAIT_VALUE_32:
      return {step.waitValue.address, 4, true, step.waitValue.flags};
    case CU_STREAM_MEM_OP_WAIT_VALUE_64:
      return {step.waitValue.address, 8, true, step.waitValue.flags};
    case CU_STREAM_MEM_OP_WRITE_VALUE_32:
      return {step.writeValue.address, 4, false, step.writeValue.flags};
    case CU_STREAM_MEM_OP_WRITE_VALUE_64:
      return {step.writeValue.address, 8, false, step.writeValue.flags};
    default: return {};
  }
}

// The functions whose names end in _reason() each check a step for one kind of fault. They return
// the reason, or null if the step has no such fault.

const char* malformed_reason(const CUstreamBatchMemOpParams& step) noexcept {
  const word_access use = access_of(step);
  if (use.bytes != 0 && use.address % use.bytes != 0)
    return "the address is not a multiple of the word's size; align the word to its size";
  if (use.waits && (use.flags & ~CU_STREAM_WAIT_VALUE_FLUSH) > CU_STREAM_WAIT_VALUE_NOR) {
    return "the condition is not a value of weir::until; use one of its enumerators";
  }
  return nullptr;
}

const char* unsupported_reason(const CUstreamBatchMemOpParams& step,
                               wait_word_features by_device) noexcept {
  const word_access use = access_of(step);
  const bool flushes = step.operation == CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES ||
                       (use.waits && (use.flags & CU_STREAM_WAIT_VALUE_FLUSH) != 0);
  const bool nor =
      use.waits && (use.flags & ~CU_STREAM_WAIT_VALUE_FLUSH) == CU_STREAM_WAIT_VALUE_NOR;
  if (flushes && !by_device.flush)
    return "the device does not support flush; check weir::wait_word_support(device) first";
  if (nor && !by_device.nor)
    return "the device does not support until::nor; check weir::wait_word_support(device) "
           "first";
  if (use.bytes == 8 && !by_device.bits_64)
    return "the device does not support 64-bit words; check weir::wait_word_support(device) "
           "first";
  return nullptr;
}

struct memory_properties {
  unsigned type = 0;  // 0: the driver knows no memory at the address
  unsigned managed = 0;
  CUmemoryPool pool = nullptr;
  CUdeviceptr start = 0;
  std::size_t bytes = 0;
};

// Returns the properties of the memory at the word of a step; nullopt if the step accesses no word
// or the query fails. The query affects no capture.
std::optional<memory_properties> memory_of(const CUstreamBatchMemOpParams& step) noexcept {
  const word_access use = access_of(step);
  if (use.bytes == 0) return std::nullopt;
  memory_properties result;
  CUpointer_attribute attributes[] = {
      CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
      CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
      CU_POINTER_ATTRIBUTE_RANGE_SIZE};
  void* answers[] = {&result.type, &result.managed, static_cast<void*>(&result.pool), &result.start,
                     &result.bytes};
  if (driver().cuPointerGetAttributes(5, attributes, answers, use.address) != CUDA_SUCCESS)
    return std::nullopt;
  return result;
}

const char* unknown_memory_reason(const CUstreamBatchMemOpParams& step) noexcept {
  const std::optional<memory_properties> memory = memory_of(step);
  if (!memory || memory->type != 0) return nullptr;
  return "the driver knows no memory at this address; use a weir::wait_word, or an "
         "element of a pinned_buffer or ipc_buffer";
}

const char* unsuitable_memory_reason(const CUstreamBatchMemOpParams& step) noexcept {
  const std::optional<memory_properties> memory = memory_of(step);
  if (memory && memory->managed != 0) {
    return "managed memory cannot hold words; use a weir::wait_word, or an element of a "
           "pinned_buffer or ipc_buffer";
  }
  if (memory && memory->pool != nullptr) {
    return "memory of pools, such as a weir::buffer, cannot hold words; use a "
           "weir::wait_word, or an element of a pinned_buffer or ipc_buffer";
  }
  return nullptr;
}

const char* out_of_bounds_reason(const CUstreamBatchMemOpParams& step) noexcept {
  const word_access use = access_of(step);
  const std::optional<memory_properties> memory = memory_of(step);
  if (!memory || memory->type == 0) return nullptr;
  return use.address - memory->start + use.bytes > memory->bytes
             ? "the word extends beyond the end of its memory; use an address inside the memory"
             : nullptr;
}

struct fault {
  std::size_t step;
  const char* reason;
};

// Returns the first step for which `reason_of(step)` is not null. Searches the steps of a refused
// batch, because the driver does not report which of them is at fault.
template <class Reason>
std::optional<fault> find_step(value_steps steps, const Reason& reason_of) {
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (const char* const reason = reason_of(steps[i])) return fault{i, reason};
  }
  return std::nullopt;
}

using reason_function = const char* (*)(const CUstreamBatchMemOpParams& step) noexcept;

// Like find_step(), for several kinds of faults. The kinds that are certain come first, because the
// first fault that is found is returned.
std::optional<fault> find_step(value_steps steps, std::initializer_list<reason_function> kinds) {
  for (const reason_function reason_of : kinds) {
    if (const std::optional<fault> found = find_step(steps, reason_of)) return found;
  }
  return std::nullopt;
}

// Returns the first step that the device of `owner`, a stream or a context, does not support.
// Returns nullopt if the device cannot be queried.
template <class Owner>
std::optional<fault> find_unsupported_step(value_steps steps, Owner owner, call_site at) noexcept {
  try {
    const wait_word_features features = wait_word_support(owner.device(at), at);
    return find_step(steps, [&](const auto& step) { return unsupported_reason(step, features); });
  } catch (...) {
    return std::nullopt;
  }
}

std::optional<fault> find_fault(CUresult answer, value_steps steps, stream_ref stream,
                                call_site at) {
  if (answer == CUDA_ERROR_NOT_SUPPORTED) return find_unsupported_step(steps, stream, at);
  if (answer != CUDA_ERROR_INVALID_VALUE) return std::nullopt;
  // In a capture the driver does not check the memory of the words.
  if (is_captured(stream.get())) return find_step(steps, malformed_reason);
  return find_step(steps, {malformed_reason, unknown_memory_reason, unsuitable_memory_reason,
                           out_of_bounds_reason});
}

// Returns "word at 0x7f10 (byte 16 of the memory at 0x7f00)".
std::string name_of_word(const word_access& use, const tracked_memory* owner) {
  const auto address = static_cast<std::uintptr_t>(use.address);
  const auto start =
      owner == nullptr ? address : reinterpret_cast<std::uintptr_t>(owner->address());
  if (start == address || start == 0) return fmt::format("word at {:#x}", address);
  return fmt::format("word at {:#x} (byte {} of the memory at {:#x})", address, address - start,
                     start);
}

// Returns "write to the 32-bit word at 0x7f10 (byte 16 of the memory at 0x7f00)".
std::string name_of_step(const CUstreamBatchMemOpParams& step, const tracked_memory* owner) {
  const word_access use = access_of(step);
  if (use.bytes == 0) return step.operation == CU_STREAM_MEM_OP_BARRIER ? "barrier" : "flush";
  return fmt::format("{} the {}-bit {}", use.waits ? "wait for" : "write to", use.bytes * 8,
                     name_of_word(use, owner));
}

std::string name_of_step(value_steps steps, std::size_t number, const tracked_memory* owner) {
  return fmt::format("step {} (of 0 to {}), a {}", number, steps.size() - 1,
                     name_of_step(steps[number], owner));
}

}  // namespace

void throw_value_error(CUresult answer, const char* call, stream_ref stream,
                       const CUstreamBatchMemOpParams& step, const tracked_memory* owner,
                       call_site at) {
  const std::optional<fault> found = find_fault(answer, value_steps{&step, 1}, stream, at);
  throw_for_part(answer, call, stream,
                 {name_of_word(access_of(step), owner), found ? found->reason : ""}, at);
}

void throw_value_batch_error(CUresult answer, const char* call, stream_ref stream,
                             value_steps steps, std::span<const tracked_memory* const> owners,
                             call_site at) {
  if (const std::optional<fault> found = find_fault(answer, steps, stream, at)) {
    throw_for_part(answer, call, stream,
                   {name_of_step(steps, found->step, owners[found->step]), found->reason}, at);
  }
  throw_for_part(answer, call, stream, {fmt::format("a batch of {}", steps.size())}, at);
}

std::string invalid_step_reason(CUresult answer, value_steps steps, CUcontext context,
                                call_site at) {
  std::optional<fault> found;
  if (answer == CUDA_ERROR_INVALID_VALUE)
    found = find_step(steps, {malformed_reason, unknown_memory_reason});
  if (answer == CUDA_ERROR_NOT_SUPPORTED)
    found = find_unsupported_step(steps, context_ref{context}, at);
  if (!found) return {};
  return fmt::format("{}: {}", name_of_step(steps, found->step, nullptr), found->reason);
}

}  // namespace weir::detail
