// SPDX-License-Identifier: Apache-2.0
// embedded/entry/kernel/jit_options.cpp - reads and writes the options of a load.
#include "embedded/entry/kernel/jit_options.hpp"

#include <algorithm>
#include <cstring>

namespace weir::embedded::entry {

using namespace abi;

CUresult jit_options::read(unsigned count, const CUjit_option* options, void** values) noexcept {
  begin_ = std::chrono::steady_clock::now();
  if (count == 0) return CUDA_SUCCESS;
  if (options == nullptr || values == nullptr) return CUDA_ERROR_INVALID_VALUE;
  for (unsigned i = 0; i < count; ++i) {
    if (options[i] > CU_JIT_SPLIT_COMPILE) return CUDA_ERROR_INVALID_VALUE;
  }
  count_ = count;
  options_ = options;
  values_ = values;
  return CUDA_SUCCESS;
}

void jit_options::write(std::string_view diagnostic, CUresult answer) const noexcept {
  write_log(CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, {});
  write_log(CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, diagnostic);
  void** const time = value_of(CU_JIT_WALL_TIME);
  if (time != nullptr && answer == CUDA_ERROR_INVALID_PTX) {
    const float milliseconds =
        std::chrono::duration<float, std::milli>(std::chrono::steady_clock::now() - begin_).count();
    std::memcpy(time, &milliseconds, sizeof milliseconds);
  }
}

void** jit_options::value_of(CUjit_option option) const noexcept {
  const CUjit_option* const end = options_ + count_;
  const CUjit_option* const found = std::find(options_, end, option);
  return found != end ? values_ + (found - options_) : nullptr;
}

// Writes a log to the program's buffer. Before the call, the size option holds the capacity of the
// buffer. Afterwards it holds the length of the text without the terminating zero, or the capacity
// if the text was cut off.
void jit_options::write_log(CUjit_option buffer, CUjit_option size,
                            std::string_view text) const noexcept {
  void** const capacity = value_of(size);
  void** const destination = value_of(buffer);
  if (capacity == nullptr || destination == nullptr || *destination == nullptr) return;
  const auto bytes = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(*capacity));
  if (bytes != 0)
    *std::copy_n(text.begin(), std::min<std::size_t>(text.size(), bytes - 1),
                 static_cast<char*>(*destination)) = '\0';
  *capacity = reinterpret_cast<void*>(std::min<std::size_t>(text.size(), bytes));
}

}  // namespace weir::embedded::entry
