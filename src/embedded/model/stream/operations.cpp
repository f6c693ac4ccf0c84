// SPDX-License-Identifier: Apache-2.0
// model/stream/operations.cpp - runs operations, and checks value operations before submission.
#include "embedded/model/stream/operations.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>

#include "embedded/engine/value_waiters.hpp"
#include "embedded/engine/waiting.hpp"
#include "embedded/model/core/thread_state.hpp"
#include "embedded/model/memory/address_map.hpp"
#include "embedded/model/memory/freed_memory.hpp"

namespace weir::embedded::model {

using namespace abi;

namespace {

// The bytes of the pattern for filling long rows: fill_row() copies the first bytes of a row to the
// rest of it. memcpy has the fastest stores, and the pattern stays in the cache.
constexpr std::size_t pattern_bytes = 4096;

template <class Element>
void fill_row(std::byte* dst, Element value, std::size_t count) noexcept {
  const std::size_t seed = std::min(count, std::size_t{64} / sizeof(Element));
  auto* elements = reinterpret_cast<Element*>(dst);
  for (std::size_t i = 0; i < seed; ++i) elements[i] = value;
  const std::size_t bytes = count * sizeof(Element);
  std::size_t done = seed * sizeof(Element);
  while (done < bytes) {
    const std::size_t next = std::min({done, pattern_bytes, bytes - done});
    std::memcpy(dst + done, dst, next);
    done += next;
  }
}

void fill_row(std::byte* dst, const memset_work& work) noexcept {
  switch (work.element_size) {
    case 1: std::memset(dst, static_cast<unsigned char>(work.value), work.width); break;
    case 2: fill_row(dst, static_cast<std::uint16_t>(work.value), work.width); break;
    default: fill_row(dst, work.value, work.width); break;
  }
}

}  // namespace

bool memset_work::run() const noexcept {
  const auto set = [this] {
    if (element_size == 4 && width == 1 && height == 1) {
      // The program may poll the word to follow the stream's progress.
      __atomic_store_n(reinterpret_cast<std::uint32_t*>(dst), value, __ATOMIC_RELEASE);
      return;
    }
    for (std::size_t row = 0; row < height; ++row) fill_row(dst + row * pitch, *this);
  };
  if (!access_memory(set)) return false;
  engine::notify_written(dst, (height - 1) * pitch + width * element_size);
  return true;
}

// Overlapping copies have an undefined result, but are safe: hence memmove.
bool copy_work::run() const noexcept {
  // With staging memory to free, this operation runs also after a device failure.
  const bool skipped = staging != nullptr && engine::device_failure() != CUDA_SUCCESS;
  const bool copied = !skipped && access_memory([this] { std::memmove(dst, src, bytes); });
  if (copied) engine::notify_written(dst, bytes);
  std::free(staging);
  return copied;
}

bool pitched_copy_work::run() const noexcept {
  const bool copied = access_memory([this] { copy_rows(); });
  if (copied)
    engine::notify_written(dst, (depth - 1) * dst_slice + (height - 1) * dst_pitch + width);
  std::free(staging);
  return copied;
}

void pitched_copy_work::copy_rows() const noexcept {
  const bool rows_adjoin = dst_pitch == width && src_pitch == width;
  for (std::size_t slice = 0; slice < depth; ++slice) {
    std::byte* dst_row = dst + slice * dst_slice;
    const std::byte* src_row = src + slice * src_slice;
    if (rows_adjoin) {
      std::memmove(dst_row, src_row, width * height);
      continue;
    }
    for (std::size_t row = 0; row < height; ++row) {
      std::memmove(dst_row + row * dst_pitch, src_row + row * src_pitch, width);
    }
  }
}

namespace {

// Marks the thread as running a host function, in which most driver calls are not permitted. At the
// end, notifies all waits for values, because the function may have written any memory.
class host_function_scope {
 public:
  host_function_scope() noexcept : thread_{this_thread()} { thread_.in_host_function = true; }
  ~host_function_scope() {
    thread_.in_host_function = false;
    engine::notify_any_memory_written();
  }
  host_function_scope(const host_function_scope&) = delete;
  host_function_scope& operator=(const host_function_scope&) = delete;

 private:
  thread_state& thread_;
};

// Evaluates "word comparison value". The greater-or-equal comparison is cyclic.
template <class Unsigned, class Signed>
bool is_satisfied(const void* word, std::uint64_t value, std::uint32_t comparison) noexcept {
  // The program may write the word at any time, as on a GPU.
  const Unsigned current = __atomic_load_n(static_cast<const Unsigned*>(word), __ATOMIC_ACQUIRE);
  const auto operand = static_cast<Unsigned>(value);
  switch (comparison) {
    case CU_STREAM_WAIT_VALUE_GEQ:
      return static_cast<Signed>(static_cast<Unsigned>(current - operand)) >= 0;
    case CU_STREAM_WAIT_VALUE_EQ: return current == operand;
    case CU_STREAM_WAIT_VALUE_AND: return (current & operand) != 0;
    default:  // CU_STREAM_WAIT_VALUE_NOR
      return static_cast<Unsigned>(~(current | operand)) != 0;
  }
}

// If streams may not access the word, makes the device fail and returns true.
bool fail_without_access(const void* word, CUmemAccess_flags access) noexcept {
  const allocation* record = address_map::find(reinterpret_cast<std::uintptr_t>(word));
  if (record != nullptr && record->allows(access)) return false;
  engine::fail_device(CUDA_ERROR_LAUNCH_FAILED);
  return true;
}

}  // namespace

void host_work::run() const noexcept {
  const host_function_scope scope;
  function(data);
}

void callback_work::run() const noexcept {
  const host_function_scope scope;
  function(stream, engine::device_failure(), data);
}

bool value_wait::run() const noexcept {
  if (denied && fail_without_access(word, CU_MEM_ACCESS_FLAGS_PROT_READ)) return true;
  bool satisfied = false;
  const auto look = [&] {
    satisfied = size == 4 ? is_satisfied<std::uint32_t, std::int32_t>(word, value, comparison)
                          : is_satisfied<std::uint64_t, std::int64_t>(word, value, comparison);
  };
  return !access_memory(look) || satisfied;
}

bool value_write::run() const noexcept {
  if (denied && fail_without_access(word, CU_MEM_ACCESS_FLAGS_PROT_READWRITE)) return false;
  const auto store = [this] {
    if (size == 4) {
      __atomic_store_n(static_cast<std::uint32_t*>(word), static_cast<std::uint32_t>(value),
                       __ATOMIC_RELEASE);
    } else {
      __atomic_store_n(static_cast<std::uint64_t*>(word), value, __ATOMIC_RELEASE);
    }
  };
  if (!access_memory(store)) return false;
  engine::notify_written_ordered(word, size);
  return true;
}

namespace {

struct found_word {
  void* address = nullptr;
  bool denied = false;  // streams may not access it
};

// Checks the address of a value operation. The word may extend past the size of an allocation, but
// not past its extent.
CUresult find_word(CUdeviceptr address, std::uint32_t size, CUmemAccess_flags requested,
                   const value_access& access, found_word& out) {
  if (address % size != 0) return CUDA_ERROR_INVALID_VALUE;
  out.address = reinterpret_cast<void*>(address);
  if (access.check == value_address_check::alignment) return CUDA_SUCCESS;
  const allocation* record = address_map::find(address);
  if (record == nullptr || address - record->start() + size > record->extent)
    return CUDA_ERROR_INVALID_VALUE;
  const bool called = access.check == value_address_check::call;
  if (called &&
      (!supports_value_operations(*record) || !record->allows(CU_MEM_ACCESS_FLAGS_PROT_READ) ||
       !can_access(access.user, *record, address, size, CU_MEM_ACCESS_FLAGS_PROT_READ))) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  out.denied = !record->allows(requested);
  return CUDA_SUCCESS;
}

}  // namespace

bool supports_value_operations(const allocation& memory) noexcept {
  return memory.kind != memory_kind::managed && memory.kind != memory_kind::managed_variable &&
         memory.kind != memory_kind::pooled && memory.kind != memory_kind::graph;
}

CUresult make_wait(CUdeviceptr address, std::uint64_t value, std::uint32_t size, unsigned flags,
                   value_wait& out, const value_access& access) {
  constexpr unsigned flush = CU_STREAM_WAIT_VALUE_FLUSH;
  if ((flags & ~flush) > CU_STREAM_WAIT_VALUE_NOR) return CUDA_ERROR_INVALID_VALUE;
  if ((flags & flush) != 0)
    return CUDA_ERROR_NOT_SUPPORTED;  // see CU_DEVICE_ATTRIBUTE_CAN_FLUSH_REMOTE_WRITES
  found_word word;
  if (const CUresult error = find_word(address, size, CU_MEM_ACCESS_FLAGS_PROT_READ, access, word))
    return error;
  out = {word.address, value, flags, size, word.denied};
  return CUDA_SUCCESS;
}

CUresult make_write(CUdeviceptr address, std::uint64_t value, std::uint32_t size, unsigned flags,
                    value_write& out, const value_access& access) {
  // An H200 has no write without a barrier.
  if (flags != CU_STREAM_WRITE_VALUE_DEFAULT) return CUDA_ERROR_INVALID_VALUE;
  found_word word;
  if (const CUresult error =
          find_word(address, size, CU_MEM_ACCESS_FLAGS_PROT_READWRITE, access, word))
    return error;
  out = {word.address, value, size, word.denied};
  return CUDA_SUCCESS;
}

CUresult make_work(const CUstreamBatchMemOpParams& op, value_work& out,
                   const value_access& access) {
  const auto wait = [&](std::uint64_t value, std::uint32_t size) {
    return make_wait(op.waitValue.address, value, size, op.waitValue.flags,
                     out.emplace<value_wait>(), access);
  };
  const auto write = [&](std::uint64_t value, std::uint32_t size) {
    return make_write(op.writeValue.address, value, size, op.writeValue.flags,
                      out.emplace<value_write>(), access);
  };
  switch (op.operation) {
    case CU_STREAM_MEM_OP_WAIT_VALUE_32: return wait(op.waitValue.value, 4);
    case CU_STREAM_MEM_OP_WAIT_VALUE_64: return wait(op.waitValue.value64, 8);
    case CU_STREAM_MEM_OP_WRITE_VALUE_32: return write(op.writeValue.value, 4);
    case CU_STREAM_MEM_OP_WRITE_VALUE_64: return write(op.writeValue.value64, 8);
    case CU_STREAM_MEM_OP_BARRIER:
      return op.memoryBarrier.flags <= CU_STREAM_MEMORY_BARRIER_TYPE_GPU ? CUDA_SUCCESS
                                                                         : CUDA_ERROR_INVALID_VALUE;
    case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES: return CUDA_ERROR_NOT_SUPPORTED;
    default: return CUDA_ERROR_INVALID_VALUE;
  }
}

}  // namespace weir::embedded::model
