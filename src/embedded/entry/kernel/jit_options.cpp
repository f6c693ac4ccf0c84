// entry/jit_options.cpp - the options of a load.
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

void** jit_options::value_of(CUjit_option which) const noexcept {
  const CUjit_option* const end = options_ + count_;
  const CUjit_option* const found = std::find(options_, end, which);
  return found != end ? values_ + (found - options_) : nullptr;
}

// The size is the room that there is, and then how long the text is, or all of the room where it
// was too little. A zero follows the text, and is not counted.
void jit_options::write_log(CUjit_option buffer, CUjit_option size,
                            std::string_view text) const noexcept {
  void** const room = value_of(size);
  void** const to = value_of(buffer);
  if (room == nullptr || to == nullptr || *to == nullptr) return;
  const auto bytes = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(*room));
  if (bytes != 0)
    *std::copy_n(text.begin(), std::min<std::size_t>(text.size(), bytes - 1),
                 static_cast<char*>(*to)) = '\0';
  *room = reinterpret_cast<void*>(std::min<std::size_t>(text.size(), bytes));
}

}  // namespace weir::embedded::entry
