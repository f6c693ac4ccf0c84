// api/sync/value_failure.cpp - which wait for a word or write to one a driver has refused, and why:
// looked for once it has.
#include "api/sync/value_failure.hpp"

#include "api/core/check.hpp"
#include "api/core/error_part.hpp"
#include "api/stream/stream_state.hpp"

#include <weir/core/error.hpp>
#include <weir/device/context.hpp>
#include <weir/sync/wait_word.hpp>

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace weir::detail {

using namespace abi;

namespace {

// What a step does with which word; 0 bytes where it has to do with none.
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

// Looks at one thing a step can have wrong: what it is, or null.

const char* malformed_reason(const CUstreamBatchMemOpParams& step) noexcept {
  const word_access use = access_of(step);
  if (use.bytes != 0 && use.address % use.bytes != 0)
    return "the address is no multiple of the word's size";
  if (use.waits && (use.flags & ~CU_STREAM_WAIT_VALUE_FLUSH) > CU_STREAM_WAIT_VALUE_NOR) {
    return "the condition is none of weir::until";
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
    return "the device has no flush, as weir::wait_word_support(device) tells";
  if (nor && !by_device.nor)
    return "the device has no until::nor, as weir::wait_word_support(device) tells";
  if (use.bytes == 8 && !by_device.bits_64)
    return "the device has no words of 64 bits, as weir::wait_word_support(device) tells";
  return nullptr;
}

struct memory_properties {
  unsigned type = 0;  // none: the driver knows no memory there, or does not say
  unsigned managed = 0;
  CUmemoryPool pool = nullptr;
  CUdeviceptr start = 0;
  std::size_t bytes = 0;
};

// Harms no capture.
std::optional<memory_properties> memory_at(CUdeviceptr address) noexcept {
  memory_properties result;
  CUpointer_attribute attributes[] = {
      CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
      CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
      CU_POINTER_ATTRIBUTE_RANGE_SIZE};
  void* answers[] = {&result.type, &result.managed, static_cast<void*>(&result.pool), &result.start,
                     &result.bytes};
  if (driver().cuPointerGetAttributes(5, attributes, answers, address) != CUDA_SUCCESS)
    return std::nullopt;
  return result;
}

const char* unknown_memory_reason(const CUstreamBatchMemOpParams& step) noexcept {
  const word_access use = access_of(step);
  const std::optional<memory_properties> memory =
      use.bytes != 0 ? memory_at(use.address) : std::nullopt;
  if (!memory || memory->type != 0) return nullptr;
  return "the driver knows no memory there; a weir::wait_word is one, and so is an element of a "
         "pinned_buffer or ipc_buffer";
}

const char* unsuitable_memory_reason(const CUstreamBatchMemOpParams& step) noexcept {
  const word_access use = access_of(step);
  const std::optional<memory_properties> memory =
      use.bytes != 0 ? memory_at(use.address) : std::nullopt;
  if (memory && memory->managed != 0) {
    return "managed memory has no words; a weir::wait_word is one, and so is an element of a "
           "pinned_buffer or ipc_buffer";
  }
  if (memory && memory->pool != nullptr) {
    return "the memory of pools, as of a weir::buffer, has no words; a weir::wait_word is one, and "
           "so is an element of a "
           "pinned_buffer or ipc_buffer";
  }
  return nullptr;
}

const char* out_of_bounds_reason(const CUstreamBatchMemOpParams& step) noexcept {
  const word_access use = access_of(step);
  const std::optional<memory_properties> memory =
      use.bytes != 0 ? memory_at(use.address) : std::nullopt;
  if (!memory || memory->type == 0) return nullptr;
  return use.address - memory->start + use.bytes > memory->bytes
             ? "the word reaches beyond the end of its memory"
             : nullptr;
}

struct fault {
  std::size_t step;
  const char* reason;
};

// A driver tells of a refusal no more than that there is one. What is certainly wrong is looked for
// first.
class fault_search {
 public:
  explicit fault_search(value_steps steps) noexcept : steps_{steps} {}

  template <class Check>
  fault_search& check_each(const Check& at_step) {
    for (std::size_t i = 0; i < steps_.size() && !found_; ++i) {
      if (const char* const reason = at_step(steps_[i])) found_ = fault{i, reason};
    }
    return *this;
  }
  [[nodiscard]] std::optional<fault> found() const noexcept { return found_; }

 private:
  value_steps steps_;
  std::optional<fault> found_;
};

// A driver that does not even say what its device can do leaves the step untold.
template <class Owner>
wait_word_features support_of(Owner owner, call_site at) noexcept {
  try {
    return wait_word_support(owner.device(at), at);
  } catch (...) {
    return {.bits_64 = true, .nor = true, .flush = true};
  }
}

std::optional<fault> find_fault(CUresult answer, value_steps steps, stream_ref stream,
                                call_site at) {
  if (answer == CUDA_ERROR_NOT_SUPPORTED) {
    const wait_word_features can = support_of(stream, at);
    return fault_search{steps}
        .check_each([can](const auto& step) { return unsupported_reason(step, can); })
        .found();
  }
  if (answer != CUDA_ERROR_INVALID_VALUE) return std::nullopt;
  fault_search all{steps};
  all.check_each(malformed_reason);
  // A capture does not look where words lie.
  if (!is_captured(stream.get()))
    all.check_each(unknown_memory_reason)
        .check_each(unsuitable_memory_reason)
        .check_each(out_of_bounds_reason);
  return all.found();
}

// "word at 0x7f10 (byte 16 of the memory at 0x7f00)"
std::string name_of_word(const word_access& use, const tracked_memory* owner) {
  const auto address = static_cast<std::uintptr_t>(use.address);
  const auto start =
      owner == nullptr ? address : reinterpret_cast<std::uintptr_t>(owner->address());
  if (start == address || start == 0) return fmt::format("word at {:#x}", address);
  return fmt::format("word at {:#x} (byte {} of the memory at {:#x})", address, address - start,
                     start);
}

// "write to the 32-bit word at 0x7f10 (byte 16 of the memory at 0x7f00)"
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
  fault_search all{steps};
  if (answer == CUDA_ERROR_INVALID_VALUE)
    all.check_each(malformed_reason).check_each(unknown_memory_reason);
  if (answer == CUDA_ERROR_NOT_SUPPORTED) {
    all.check_each([can = support_of(context_ref{context}, at)](const auto& step) {
      return unsupported_reason(step, can);
    });
  }
  const std::optional<fault> found = all.found();
  if (!found) return {};
  return fmt::format("{}: {}", name_of_step(steps, found->step, nullptr), found->reason);
}

}  // namespace weir::detail
